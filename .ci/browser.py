#!/usr/bin/env python3
"""Looks at pages of `halfcheck report` in a headless Chromium, as their readers do.

The pages are of records that pass and fail, with and without a baseline, of trainings, and of one
whose names and notes are far too long. Each is laid out for a phone (390 pixels), a desk (1280), a
wide screen (1920) and paper, in light and in dark colours, with everything opened that can be:

- nothing is wider than the page, and what is wider than its box can be scrolled to by keyboard;
- every text has the contrast that WCAG 2 asks for (AA) against what is behind it;
- every picture has marks, texts and more than two colours, a name, and a role;
- ids are unique, and whatever refers to an id finds it;
- there is one h1, no level of heading is left out, and the skip link appears on the first Tab;
- nothing is loaded from anywhere, and nothing is a script.

Then a mistake of each kind is planted in a page, and must be found.

    browser.py HALFCHECK BROWSER [--pictures DIR]      DIR: for what was seen, as PNG

The browser is driven through a pipe by the protocol of its developer tools, so that no port is
opened.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zlib

PAPER = 718  # A4 less the margins of a browser, in CSS pixels
LARGEST = 2 << 20
# A view, and what is asked in it. Contrast and pictures do not depend on the width.
VIEWS = [
    ("phone", 390, "screen", "light", ("overflow",)),
    ("phone-dark", 390, "screen", "dark", ("overflow",)),
    ("desk", 1280, "screen", "light", ("overflow", "contrast", "pictures")),
    ("desk-dark", 1280, "screen", "dark", ("contrast", "pictures")),
    ("wide", 1920, "screen", "light", ("overflow",)),
    ("paper", PAPER, "print", "light", ("overflow", "contrast")),
    ("paper-dark", PAPER, "print", "dark", ("contrast",)),
]
SMALL = 0.125  # the scale at which pictures are looked at for colours
MOST = 5  # lines for each check; the others are counted

# What is asked of the page. Each function returns a list of what is wrong.
CHECKS = r"""
(() => {
const say = e => '<' + e.tagName.toLowerCase() + (e.id ? ' id=' + e.id : '') + '> ' +
  (e.textContent || '').trim().replace(/\s+/g, ' ').slice(0, 60);
const all = (q, root) => [...(root || document).querySelectorAll(q)];
const seen = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const parsed = new Map();
const rgba = text => {  // any colour of CSS
  if (!parsed.has(text)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = '#000';
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    parsed.set(text, text === 'none' ? [0, 0, 0, 0] : [r, g, b, a / 255]);
  }
  return parsed.get(text);
};
const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
const light = c => {
  const [r, g, b] = c.map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + .05) / (y + .05);
};
const behind = e => {  // the colour below a text: the boxes around it, the innermost last
  const boxes = [];
  for (let at = e; at; at = at.parentElement)
    boxes.unshift(rgba(getComputedStyle(at).backgroundColor));
  const dark = getComputedStyle(document.documentElement).colorScheme.includes('dark') &&
    matchMedia('(prefers-color-scheme: dark)').matches && matchMedia('screen').matches;
  return boxes.reduce((below, box) => over(box, below), dark ? [18, 18, 18] : [255, 255, 255]);
};
const width = document.documentElement.clientWidth;

return {
overflow() {
  const wrong = [];
  if (document.documentElement.scrollWidth > width) {
    const wide = all('body *').filter(e => seen(e) && e.getBoundingClientRect().right > width + 1 &&
      !e.closest('.scroll, pre, .skip') || e.matches('.scroll, pre') &&
      e.getBoundingClientRect().right > width + 1);
    wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide: ' +
      wide.slice(0, 3).map(say).join('; '));
  }
  for (const e of all('body *')) {
    if (!seen(e) || e.closest('svg')) continue;
    const style = getComputedStyle(e);
    const hidden = e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0;
    if (hidden && style.overflowX === 'hidden') wrong.push('cut off: ' + say(e));
    if (hidden && style.overflowX === 'auto' && matchMedia('print').matches)
      wrong.push('cut off on paper: ' + say(e));
    if (hidden && style.overflowX === 'auto' && e.tabIndex < 0)
      wrong.push('scrolls, but not by keyboard: ' + say(e));
    if (matchMedia('print').matches && e.getBoundingClientRect().right > width + 1)
      wrong.push('beyond the paper: ' + say(e));
  }
  return wrong;
},
contrast() {
  const wrong = [], told = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !seen(e) || e.closest('style, title, desc, .skip:not(:focus)'))
      continue;
    const style = getComputedStyle(e);
    const below = behind(e);
    const ink = over(rgba(e.closest('svg') ? style.fill : style.color), below);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const ratio = contrast(ink, below);
    const key = ink + ' ' + below;
    if (ratio < (large ? 3 : 4.5) && !told.has(key)) {
      told.add(key);
      wrong.push('contrast ' + ratio.toFixed(2) + ': ' + say(e));
    }
  }
  return wrong;
},
pictures() {
  const wrong = [];
  for (const svg of all('svg')) {
    if (svg.parentElement.closest('svg')) continue;
    const box = svg.getBoundingClientRect();
    const paper = behind(svg);
    const marks = all('path, use, circle, rect, polygon, polyline, line', svg).filter(e => {
      if (e.closest('defs')) return false;
      const b = e.getBoundingClientRect(), style = getComputedStyle(e);
      const ink = [style.stroke, style.fill].map(rgba).filter(c => c[3] > 0);
      return b.width + b.height > 0 && b.right > box.left && b.left < box.right &&
        b.bottom > box.top && b.top < box.bottom &&
        ink.some(c => contrast(over(c, paper), paper) > 1.15);
    });
    const texts = all('text', svg)
      .filter(e => e.textContent.trim() && e.getBoundingClientRect().width > 0);
    const name = svg.getAttribute('aria-label') ||
      (svg.querySelector(':scope > title') || {}).textContent || '';
    const what = '<svg id=' + svg.id + '> ' + name.slice(0, 40);
    if (seen(svg) && (box.width < 100 || box.height < 60)) wrong.push('too small: ' + what);
    if (seen(svg) && (marks.length < 3 || texts.length < 2))
      wrong.push('empty: ' + what + ': ' + marks.length + ' marks, ' + texts.length + ' texts');
    for (const e of texts) {
      const b = e.getBoundingClientRect();
      if (b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 ||
          b.bottom > box.bottom + 1)
        wrong.push('a text beyond the edge: ' + what + ': ' + say(e));
    }
    if (svg.getAttribute('role') !== 'img') wrong.push('no role: ' + what);
    if (name.trim().length < 5 || name === 'Gnuplot') wrong.push('no name: ' + what);
  }
  for (const img of all('img'))
    if (!img.alt.trim() || !img.naturalWidth) wrong.push('no alt: ' + say(img));
  return wrong;
},
ids() {
  const wrong = [], count = new Map();
  for (const e of all('[id]')) count.set(e.id, (count.get(e.id) || 0) + 1);
  for (const [id, n] of count) if (n > 1) wrong.push(n + ' elements have the id ' + id);
  const ask = (e, id) => {
    if (!count.has(id)) wrong.push('no element has the id ' + id + ': ' + say(e));
  };
  for (const e of all('*')) for (const a of e.attributes) {
    if (/^(xlink:)?href$/.test(a.name) && a.value[0] === '#') ask(e, a.value.slice(1));
    if (/^aria-(labelledby|describedby)$/.test(a.name))
      a.value.split(/\s+/).forEach(id => ask(e, id));
    for (const m of a.value.matchAll(/url\(['"]?#([^'")]*)/g)) ask(e, m[1]);
  }
  return wrong;
},
outline() {
  const wrong = [];
  const levels = all('h1, h2, h3, h4, h5, h6').map(e => [+e.tagName[1], e]);
  if (levels.filter(l => l[0] === 1).length !== 1) wrong.push('not one h1');
  levels.forEach(([level, e], i) => {
    if (i && level > levels[i - 1][0] + 1) wrong.push('a level is left out before ' + say(e));
    if (!e.textContent.trim()) wrong.push('an empty heading');
  });
  if (document.documentElement.lang !== 'en') wrong.push('no language');
  if (!/^(PASS|FAIL|NOTHING): /.test(document.title)) wrong.push('the title is ' + document.title);
  if (!all('main').length || !all('a.skip[href="#main"]').length)
    wrong.push('no main, or no link to it');
  for (const e of all('[role=region]'))
    if (!e.getAttribute('aria-label')) wrong.push('a region has no name');
  for (const e of all('td'))
    if (!e.closest('table').querySelector('th')) wrong.push('a table has no titles');
  return wrong;
},
alone() {
  const wrong = all('script, link, iframe, object, embed, base, form, audio, video').map(say);
  for (const e of all('*')) for (const a of e.attributes) {
    if (/^on/i.test(a.name)) wrong.push('a script: ' + say(e));
    if (/^(src|srcset|data|poster)$/.test(a.name) && !a.value.startsWith('data:'))
      wrong.push('loads ' + a.value);
    if (/href$/.test(a.name) && /^\s*(javascript|data|vbscript):/i.test(a.value))
      wrong.push('leads to ' + a.value);
  }
  const csp = document.querySelector('meta[http-equiv="Content-Security-Policy"]');
  if (!csp || !/default-src 'none'/.test(csp.content)) wrong.push('no policy');
  return wrong;
},
};
})()
"""

# Checks that do not depend on the view are made once.
ONCE = ("ids", "outline", "alone")


class Browser:
    """A headless Chromium with one open page."""

    def __init__(self, path: str) -> None:
        self.folder = tempfile.mkdtemp(prefix="halfcheck-browser-")
        to_browser, self.write_end = os.pipe()
        read_end, from_browser = os.pipe()
        os.set_blocking(self.write_end, True)
        script = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "bash", path, "--headless", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.read_end = os.fdopen(read_end, "rb", buffering=0)
        self.left = b""
        self.calls = 0
        self.tab = None
        self.session = None
        self.requests: list[str] = []

    def message(self) -> dict:
        """The next message, which ends with a zero byte."""
        while b"\0" not in self.left:
            more = self.read_end.read(1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.left += more
        text, self.left = self.left.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def call(self, method: str, **params) -> dict:
        """Calls a method of the protocol and waits for its answer."""
        self.calls += 1
        call = {"id": self.calls, "method": method, "params": params}
        if self.session:
            call["sessionId"] = self.session
        text = json.dumps(call).encode() + b"\0"
        while text:
            text = text[os.write(self.write_end, text):]
        while True:
            message = self.message()
            if message.get("id") == self.calls:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]

    def evaluate(self, expression: str):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def open(self, page: pathlib.Path) -> None:
        """Loads a page in a fresh tab and waits until it is laid out."""
        self.session = None
        if self.tab:
            self.call("Target.closeTarget", targetId=self.tab)
        self.tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.tab,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")
        self.requests.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while self.evaluate("document.readyState") != "complete":
            pass

    def show(self, width: int, media: str, scheme: str) -> None:
        """Lays the page out for a view, and opens everything that can be opened."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")

    def picture(self, x: float, y: float, width: float, height: float, scale: float = 1) -> bytes:
        """A part of the page as PNG."""
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip,
                                          captureBeyondViewport=True)["data"])

    def press_tab(self) -> None:
        """Presses the key Tab."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                      windowsVirtualKeyCode=9)

    def close(self) -> None:
        """Ends the browser and removes its folder."""
        os.close(self.write_end)  # which it takes for the end
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def pixels(png: bytes) -> list[list[tuple]]:
    """The rows of a PNG of 8 bits a channel, each as a list of colours."""
    at, data, head = 8, b"", b""
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IHDR":
            head = png[at + 8:at + 8 + length]
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += length + 12
    width = int.from_bytes(head[:4], "big")
    channels = {2: 3, 6: 4}[head[9]]
    raw, stride = zlib.decompress(data), width * channels
    above, rows = bytearray(stride), []
    for start in range(0, len(raw), stride + 1):
        row = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], row, above, channels)
        rows.append(list(zip(*(row[c::channels] for c in range(3)))))
        above = row
    return rows


def unfilter(kind: int, row: bytearray, above: bytearray, channels: int) -> None:
    """Undoes the filter of a row of a PNG."""
    for i in range(len(row) if kind else 0):
        a = row[i - channels] if i >= channels else 0
        b, c = above[i], above[i - channels] if i >= channels else 0
        if kind == 4:
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))
            row[i] = row[i] + nearest[2] & 255
        else:
            row[i] = row[i] + {1: a, 2: b, 3: (a + b) // 2}[kind] & 255


def blank_pictures(browser: Browser) -> list[str]:
    """Pictures that show two colours at most, however many marks they say that they have: all are
    seen at once, small."""
    boxes = browser.evaluate(
        "[...document.querySelectorAll('svg')].filter(e => e.checkVisibility()).map(e => {"
        " const b = e.getBoundingClientRect(); return [e.id || e.textContent.trim().slice(0, 40),"
        " b.x + scrollX, b.y + scrollY, b.right + scrollX, b.bottom + scrollY]; })")
    if not boxes:
        return []
    rows = pixels(browser.picture(0, 0, max(box[3] for box in boxes), max(box[4] for box in boxes),
                                  SMALL))
    wrong = []
    for name, *box in boxes:
        left, top, right, bottom = (round(edge * SMALL) for edge in box)
        seen = set().union(*(row[left:right] for row in rows[top:bottom]))
        if len(seen) < 4:
            wrong.append(f"blank: <svg> {name}")
    return wrong


def skip_link(browser: Browser) -> list[str]:
    """The first Tab must show the link to the results, with an outline."""
    browser.press_tab()
    seen = browser.evaluate(
        "(e => [e.className, e.getBoundingClientRect().x, getComputedStyle(e).outlineStyle,"
        " parseFloat(getComputedStyle(e).outlineWidth)])(document.activeElement)")
    if seen[0] != "skip" or seen[1] < 0 or seen[2] == "none" or seen[3] < 2:
        return [f"the first Tab shows {seen}"]
    return []


def ask(browser: Browser, name: str, view: str = "") -> list[str]:
    """What a check has found, not too much of it."""
    wrong = browser.evaluate(f"({CHECKS}).{name}()")
    more = [f"and {len(wrong) - MOST} more"] if len(wrong) > MOST else []
    return [f"{view}{name}: {text}" for text in wrong[:MOST] + more]


def look(browser: Browser, page: pathlib.Path, views=VIEWS, folder=None) -> list[str]:
    """Everything that is wrong with a page."""
    wrong = []
    if page.stat().st_size >= LARGEST:
        wrong.append(f"{page.stat().st_size} bytes are more than {LARGEST}")
    browser.open(page)
    wrong += [f"asks for {url}" for url in browser.requests if url != page.resolve().as_uri()]
    wrong += [f"skip: {text}" for text in skip_link(browser)]
    for name in ONCE:
        wrong += ask(browser, name)
    for view, width, media, scheme, checks in views:
        browser.show(width, media, scheme)
        for name in checks:
            wrong += ask(browser, name, f"{view}: ")
        if "pictures" in checks:
            wrong += [f"{view}: {text}" for text in blank_pictures(browser)]
        if folder:
            height = min(browser.evaluate("document.documentElement.scrollHeight"), 16000)
            (folder / f"{page.parent.name}-{view}.png").write_bytes(
                browser.picture(0, 0, width, height))
    return wrong


# A mistake: what is replaced in the page by what, and a word of what must be said.
MISTAKES = [
    ("</main>", '<div style="width: 3000px">x</div></main>', "the page is"),
    ("</main>", '<p style="overflow: hidden; white-space: nowrap; width: 5ch">a long text</p>'
     "</main>", "cut off"),
    ("</main>", '<div style="overflow-x: auto"><div style="width: 3000px">x</div></div></main>',
     "keyboard"),
    ("--muted: #5c6168", "--muted: #9aa0a8", "contrast"),
    ("</main>", '<p id="main">again</p></main>', "the id main"),
    ('href="#main"', 'href="#nowhere"', "nowhere"),
    ("</main>", '<svg width="300" height="200" role="img"><title>A picture</title></svg></main>',
     "empty"),
    ("</main>", '<svg width="300" height="200" role="img"><title>A picture</title><g opacity="0">'
     '<text y="20">one</text><text y="40">two</text><path d="M0 9h99M0 19h99M0 29h99" '
     'stroke="red"/><path d="M9 9h99" stroke="red"/><path d="M9 99h99" stroke="red"/></g></svg>'
     "</main>", "blank"),
    ("<main", '<svg width="300" height="200" role="img"><text y="20" x="-60">beyond</text>'
     "</svg><main", "beyond the edge"),
    ('role="img"', "", "no role"),
    ("</main>", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="/></main>', "no alt"),
    ("</main>", '<img src="http://127.0.0.1:9/x.png" alt="a picture"/></main>', "loads"),
    ("</main>", "<script>1</script></main>", "alone: <script>"),
    ("</main>", "<h6>too deep</h6></main>", "a level is left out"),
    (".skip:focus {", ".skip:not(*) {", "the first Tab"),
    ("default-src 'none'", "default-src *", "no policy"),
    ("</main>", "<!--" + "x" * LARGEST + "--></main>", "bytes are more"),
]


def selftest(browser: Browser, page: pathlib.Path) -> list[str]:
    """The mistakes that were planted in a good page and not found."""
    good = page.read_text(encoding="utf-8")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        bad = pathlib.Path(folder) / "bad.html"
        for old, new, word in MISTAKES:
            if old not in good:
                wrong.append(f"the page has no {old}")
            bad.write_text(good.replace(old, new), encoding="utf-8")
            said = look(browser, bad, VIEWS[2:3])
            if not any(word in text for text in said):
                wrong.append(f"not found: {word}, only {said[:3]}")
    return wrong


def make_pages(program: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """Pages of every kind, made by the program in this folder."""
    def run(*words: str, status: int = 0) -> None:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True,
                              check=False)
        if done.returncode != status:
            sys.exit(f"{words}: status {done.returncode}: {done.stderr}")

    measured = pathlib.Path(__file__).parent.parent / "reports" / "measured"
    trainings = sorted(str(path) for path in measured.glob("*/*/record.json"))
    run("run", "rounding/after-one", "batchnorm/running-mean*", "field/hidden-overflow/*",
        "op/adamw/*", "op/sum/*", "seeds/001*", "--level", "quick", "--backend", "exact,host",
        "--json", "good.json")
    run("run", "op/adamw/*", "bits/adamw/*", "--level", "quick", "--backend", "exact", "--fault",
        "adamw-flushes", "--json", "bad.json", status=1)
    (folder / "long.json").write_text(json.dumps(stretched(folder / "good.json")))
    run("report", "good.json", "--out", "good")
    run("report", "bad.json", "--baseline", "good.json", "--out", "bad")
    run("report", "long.json", "--baseline", "good.json", "--out", "long")
    run("report", *trainings, "--out", "trainings")
    return [folder / name / "report.html" for name in ("good", "bad", "long", "trainings")]


def stretched(path: pathlib.Path) -> dict:
    """A record whose texts are longer than any page is wide."""
    record = json.loads(path.read_text())
    for i, result in enumerate(record["results"]):
        result["case"] = result["case"] + "-" + "long" * 40 + str(i)
        result["note"] = "0x" + "f" * 300 if i % 3 else ""
        result["repro"] = "halfcheck run " + result["case"] + " --seed " + "9" * 200
        result["verdict"] = ("FAIL", "SKIPPED", "PASS")[i % 3]
    for key in ("cpu", "os", "compiler"):
        record["environment"][key] = key + "W" * 200
    return record


def main(arguments: list[str]) -> int:
    """Makes the pages, looks at them, and says what is wrong."""
    program, path = arguments[:2]
    seen = pathlib.Path(arguments[3]) if arguments[2:3] == ["--pictures"] else None
    if seen:
        seen.mkdir(parents=True, exist_ok=True)
    bad = 0
    browser = Browser(path)
    with tempfile.TemporaryDirectory() as folder:
        pages = make_pages(program, pathlib.Path(folder))
        for page in pages:
            wrong = look(browser, page, folder=seen)
            for text in wrong:
                print(f"{page.parent.name}: {text}")
            bad += len(wrong)
        missed = selftest(browser, pages[1])
    browser.close()
    for text in missed:
        print(f"selftest: {text}")
    print(f"{len(pages)} pages in {len(VIEWS)} views: {bad} mistakes; of {len(MISTAKES)} that were "
          f"planted, {len(missed)} were not found")
    return bad + len(missed) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
