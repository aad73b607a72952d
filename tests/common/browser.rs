//! Headless Chromium, driven through its debugging pipe: no driver beside it, and no port.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::{TempDir, installed};

/// A browser that does not answer for so long has died.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a page is opened with.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

pub const DESK: Window = Window { width: 1200, height: 900, is_dark: false };
pub const PHONE: Window = Window { width: 380, height: 780, is_dark: false };

/// A browser with one tab.
pub struct Browser {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    last: u64,
    session: Value,
    /// Events that have come so far.
    events: Vec<Value>,
    page: String,
    _profile: TempDir,
}

impl Browser {
    /// `None`, with a line on stderr, where there is no Chromium.
    pub fn start() -> Option<Browser> {
        if !installed("chromium") {
            return None;
        }
        let profile = TempDir::new();
        let flags = "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-sync \
             --disable-dev-shm-usage --disable-background-networking --disable-component-update \
             --disable-extensions --remote-debugging-pipe";
        // Chromium reads commands from descriptor 3 and answers on 4.
        let script = format!(
            "exec chromium {flags} --user-data-dir={} about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.at("profile")
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.env("HOME", profile.path()).spawn().unwrap();
        let (to, from) = (child.stdin.take(), child.stdout.take().unwrap());
        let (send, receive) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(from).split(0) {
                let message = serde_json::from_slice(&message.unwrap()).unwrap();
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let (session, events, page) = (Value::Null, Vec::new(), String::new());
        let mut browser =
            Browser { child, to, from: receive, last: 0, session, events, page, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Opens a page from disk, and waits until it has loaded.
    pub fn open(&mut self, path: &str, window: Window) {
        let Window { width, height, is_dark } = window;
        let is_phone = width < 600;
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if is_dark { "dark" } else { "light" };
        let scheme = json!({"name": "prefers-color-scheme", "value": scheme});
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme]}));
        self.events.clear();
        self.page = format!("file://{path}");
        let opened = self.call("Page.navigate", json!({"url": self.page}));
        assert!(opened["errorText"].is_null(), "{opened}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.receive();
        }
    }

    fn receive(&mut self) -> Option<Value> {
        let message = self.from.recv_timeout(PATIENCE).expect("the browser has died");
        match message["id"].is_null() {
            true => {
                self.events.push(message);
                None
            }
            false => Some(message),
        }
    }

    /// Calls a method of the protocol.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let to = self.to.as_mut().unwrap();
        to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            if let Some(answer) = self.receive().filter(|answer| answer["id"] == self.last) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The text of an expression.
    #[track_caller]
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.eval(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression}: {value}")).to_string()
    }

    /// The text that is seen of the first element.
    #[track_caller]
    pub fn seen(&mut self, selector: &str) -> String {
        self.text(&format!("document.querySelector({}).innerText", json!(selector)))
    }

    /// The middle of the first element, scrolled into view.
    #[track_caller]
    fn middle(&mut self, selector: &str) -> (f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const node = document.querySelector({});
               node.scrollIntoView({{block: 'center', behavior: 'instant'}});
               const box = node.getClientRects()[0];
               return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Moves the mouse over an element.
    #[track_caller]
    pub fn hover(&mut self, selector: &str) {
        let place = self.middle(selector);
        self.mouse("mouseMoved", place);
    }

    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let place = self.middle(selector);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, place);
        }
    }

    /// Presses and releases a key, by its name as JavaScript has it.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "Home" => 36,
            "End" => 35,
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            one => u32::from(one.chars().next().unwrap().to_ascii_uppercase()),
        };
        let mut event = json!({"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": code});
        if key.chars().count() == 1 {
            (event["type"], event["text"]) = (json!("keyDown"), json!(key));
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Types a text into what has the focus.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// What a page must not do: speak to the console, fail, or ask for anything but itself.
    pub fn problems(&mut self) -> Vec<String> {
        // What has happened until now is told before the answer.
        self.eval("new Promise((done) => setTimeout(done, 50))");
        let is_problem = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                let url = url.split('#').next().unwrap_or_default();
                url != self.page && !url.starts_with("data:")
            }
            _ => false,
        };
        self.events.iter().filter(is_problem).map(Value::to_string).collect()
    }

    /// Writes a picture of what is seen, to look at; where GRISTMILL_SCREENSHOTS names a directory.
    pub fn picture(&mut self, name: &str) {
        use base64::Engine;
        let Some(directory) = std::env::var_os("GRISTMILL_SCREENSHOTS") else { return };
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(taken["data"].as_str().unwrap())
            .unwrap();
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.png")), bytes)
            .unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without its commands a browser ends with all its processes.
        self.to = None;
        let _ = self.child.wait();
    }
}
