# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for the tests of the report page, through Debian's selenium packages."""
import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DEADLINE_S = 30
READY = "document.documentElement.dataset.ready === '1'"


def missing_programs():
    return [name for name in ("chromium", "chromedriver") if not shutil.which(name)]


def arguments(profile):
    return ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--no-first-run", "--disable-background-networking", "--disable-extensions",
            "--user-data-dir=" + profile,
            # One process draws all pages, so that it compiles their scripts once.
            "--renderer-process-limit=1", "--disable-site-isolation-trials",
            "--disable-features=SpareRendererForSitePerProcess",
            # Chromium refuses to run as root with its sandbox.
            *(["--no-sandbox"] if os.geteuid() == 0 else [])]


def environment(profile):
    """Keeps what Chromium writes elsewhere in its profile."""
    return {**os.environ, "XDG_CONFIG_HOME": profile, "TMPDIR": profile}


def start_chromium(profile):
    """Starts a Chromium that several tests use, one after the other. Returns its process."""
    process = subprocess.Popen([shutil.which("chromium"), *arguments(profile),
                                "--remote-debugging-port=0"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=environment(profile))
    deadline = time.monotonic() + DEADLINE_S
    while not Path(profile, "DevToolsActivePort").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"Chromium has not started: exit code {process.poll()}")
        time.sleep(0.05)
    return process


def shared_address():
    """The address of the Chromium that all tests share; None if a test has to start its own."""
    ctest = os.environ.get("CURTAIL_CTEST", str(os.getppid()))
    record = Path(os.environ.get("CURTAIL_SHARED", ""), ctest, "browser")
    if not record.is_file():
        return None
    return "127.0.0.1:" + Path(record.read_text(), "DevToolsActivePort").read_text().split()[0]


class Browser:
    """A Chromium of its own with the folder `profile`, or a session of the one that runs at
    `address`."""

    def __init__(self, profile, address=None):
        options = webdriver.ChromeOptions()
        if address:
            options.debugger_address = address
        else:
            options.binary_location = shutil.which("chromium")
            for argument in arguments(profile):
                options.add_argument(argument)
        options.ignore_local_proxy_environment_variables()
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The explicit path keeps Selenium from looking for a driver to download.
        service = Service(shutil.which("chromedriver"), env=environment(profile))
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_page_load_timeout(DEADLINE_S)
        # The page shows UTC wherever it is read.
        self.command("Emulation.setTimezoneOverride", timezoneId="America/New_York")
        # A page finds nothing that the page of another test has kept.
        self.command("Storage.clearDataForOrigin", origin="file://", storageTypes="all")

    def close(self):
        self.driver.quit()

    def evaluate(self, expression):
        return self.driver.execute_script("return " + expression)

    def run(self, statement):
        self.driver.execute_script(statement)

    def wait(self, condition, what):
        """Waits until the JavaScript expression holds."""
        WebDriverWait(self.driver, DEADLINE_S, poll_frequency=0.05).until(
            lambda _: self.evaluate(f"!!({condition})"), what)

    def open(self, url, ready=READY, width=1400):
        """Opens a page in a window of `width` pixels and waits until `ready` holds."""
        self.driver.get("about:blank")
        self.set_size(width)
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(url)
        self.wait(f"document.readyState === 'complete' && ({ready})", url + " was not drawn")

    def problems(self, url):
        """Console messages, exceptions, dialogs, and requests other than for the page itself,
        since the page was opened or problems() was last called."""
        found = [f"console: {entry['message'][:300]}" for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Page.javascriptDialogOpening":
                found.append("dialog: " + event["params"]["message"])
            if event["method"] == "Network.requestWillBeSent":
                requested = event["params"]["request"]["url"]
                is_own = requested.split("?")[0].split("#")[0] == url
                if not is_own and not requested.startswith(("data:", "blob:")):
                    found.append("request: " + requested[:300])
        return found

    def command(self, method, **parameters):
        """A command of the DevTools protocol, for what WebDriver does not offer."""
        return self.driver.execute_cdp_cmd(method, parameters)

    def set_size(self, width, height=1000):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def allow_scripts(self, allowed):
        self.command("Emulation.setScriptExecutionDisabled", value=not allowed)

    def run_before_page(self, script):
        """Runs `script` in every page before the page's own scripts. Returns what undoes it."""
        added = self.command("Page.addScriptToEvaluateOnNewDocument", source=script)
        return lambda: self.command("Page.removeScriptToEvaluateOnNewDocument", **added)

    def hover(self, selector, along, down):
        """Moves the pointer to a point of an element, in shares of its width and height."""
        element = self.find(selector)
        size = element.size
        ActionChains(self.driver, duration=0).move_to_element_with_offset(
            element, int(size["width"] * (along - 0.5)), int(size["height"] * (down - 0.5))
        ).move_by_offset(5, 0).perform()

    def swipe(self, x, y, up):
        """A finger touches a point of the window and moves up by some pixels."""
        points = [y - up * i / 10 for i in range(1, 11)] if up else []
        touch = lambda kind, where: self.command("Input.dispatchTouchEvent", type=kind,
                                                 touchPoints=where)
        touch("touchStart", [{"x": x, "y": y}])
        for at in points:
            touch("touchMove", [{"x": x, "y": at}])
        touch("touchEnd", [])

    def press(self, selector, key, times):
        self.find(selector).send_keys(getattr(Keys, key) * times)

    def type(self, selector, text):
        self.find(selector).send_keys(text)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def pdf(self):
        return base64.b64decode(self.driver.print_page())

    def text(self, selector):
        """The text of each element that matches."""
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def rows(self, selector):
        """The cells' texts of each row in the body of a table."""
        rows = f"[...document.querySelectorAll({json.dumps(selector + ' tbody tr')})]"
        return self.evaluate(rows + ".map(r => [...r.cells].map(c => c.textContent))")

    def screenshot(self, path):
        """Of the whole page."""
        width, height = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        self.set_size(width, height)
        self.driver.save_screenshot(path)
