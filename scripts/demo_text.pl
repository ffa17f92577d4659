# SPDX-License-Identifier: Apache-2.0
# demo_text.pl FOLDER OUT < list of pod files
# Writes the prose of each section of each page to OUT/<page>-<section>.txt.
use strict;
use warnings;

package Prose;
use parent 'Pod::Text';

# Verbatim paragraphs contain code and tables.
sub cmd_verbatim { return '' }

# Headings are not sentences; a form feed separates sections.
sub cmd_head1 { return $_[0]->skip_heading("\f\n\n") }
sub cmd_head2 { return $_[0]->skip_heading("\n\n") }
sub cmd_head3 { return $_[0]->skip_heading("\n\n") }
sub cmd_head4 { return $_[0]->skip_heading("\n\n") }

sub skip_heading {
    my ($self, $mark) = @_;
    $self->item("\n\n") if defined $$self{ITEM};
    $self->output($mark);
    return '';
}

package main;

my ($folder, $out) = @ARGV;
my %seen;

# Whether a paragraph consists of sentences: enough words, nearly all letters and spaces, no repeat.
sub is_prose {
    my ($text) = @_;
    return 0 if $text =~ /[^\x20-\x7e]/;
    return 0 if (my @words = $text =~ /[A-Za-z]{2,}/g) < 8;
    return 0 if $text =~ tr/A-Za-z ,.;:'"()//c > 0.06 * length $text;
    return !$seen{$text}++;
}

while (my $page = <STDIN>) {
    chomp $page;
    my $parser = Prose->new(
        width => 1_000_000, indent => 0, quotes => 'none', nourls => 1, errors => 'none');
    my $text = '';
    $parser->output_string(\$text);
    $parser->parse_file($page);
    (my $name = substr $page, 1 + length $folder) =~ s{\.pod$}{};
    $name =~ s{[^A-Za-z0-9]+}{-}g;
    my $number = 0;
    for my $section (split /\f/, $text) {
        my @paragraphs;
        for my $paragraph (split /\n\s*\n/, $section) {
            $paragraph =~ s/\s+/ /g;
            $paragraph =~ s/^ | $//g;
            $paragraph =~ s/^[*o] //;
            push @paragraphs, $paragraph if is_prose($paragraph);
        }
        next unless @paragraphs;
        my $file = sprintf '%s/%s-%02d.txt', $out, $name, $number++;
        open my $handle, '>', $file or die "cannot write $file: $!\n";
        print $handle join("\n\n", @paragraphs), "\n" or die "cannot write $file: $!\n";
        close $handle or die "cannot write $file: $!\n";
    }
}
