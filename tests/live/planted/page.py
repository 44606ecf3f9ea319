# SPDX-License-Identifier: Apache-2.0
"""What a browser shows at first of the page of a recording."""
import html
import os
import re
import shutil
import subprocess

ANSWER = 'id="answer"'
SECONDS = 60


def rows(otelprof, recording):
    """The texts of the page's answer; None where there is no browser, or no answer in pages."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    page = recording + ".html"
    subprocess.run([otelprof, "convert", "--lines", "-o", page, recording], check=True,
                   stderr=subprocess.DEVNULL)
    with open(page, encoding="utf-8") as f:
        if not browser or ANSWER not in f.read():
            return None
    dom = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
         "--user-data-dir=" + os.path.join(os.path.dirname(page), "browser"), "--dump-dom",
         "file://" + os.path.abspath(page)],
        capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    begin = dom.find(ANSWER)
    part = dom[begin:dom.find("</details>", begin)]
    return [" ".join(html.unescape(re.sub(r"<[^>]*>", " ", "<" + row)).split())
            for row in re.split(r"<(?=li|p |div)", part)]
