// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/part.hpp"

namespace curtail::protocol::simulator {

/// Carries out the outputs that read or write objects of the store, and takes notes and exits.
class Outputs : private Part {
  public:
    Outputs(Shared& shared, Processes& processes) : Part(shared, processes) {}

    void execute(P const& p, Get const& o);
    void execute(P const& p, GetCopy const& o);
    void execute(P const& p, List const& o);
    void execute(P const& p, KeepCommit const& o);
    void execute(P const& p, Create const& o);
    void execute(P const& p, StoreDelta const& o);
    void execute(P const& p, StoreModel const& o);
    void execute(P const& p, MakeInitial const& o);
    void execute(P const& p, Overwrite const& o);
    void execute(P const& p, Delete const& o);
    void execute(P const& p, Sweep const& o);
    void execute(P const& p, Note const& o);
    void execute(P const& p, Exit const& o);

  private:
    /// Reads an object, and sends the answer.
    void get(P const& p, Get const& o);
    /// Sends a failure instead of an answer, and returns true, if one happens.
    [[nodiscard]] bool fails(P const& p, Get const& o);
    /// Creates an object as `o` asks. Returns whether it is new.
    void corrupt(std::string& bytes);
    [[nodiscard]] bool creates(Create const& o);
    void put(P const& p, Op op, PayloadPlace const& place, Payload const& content, bool may_spoil);

    Millis last_commit_{};  ///< time of the last attempt to create a commit
};

}  // namespace curtail::protocol::simulator
