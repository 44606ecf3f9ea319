/* SPDX-License-Identifier: Apache-2.0 */
/* ---- start ---- */
/* Parse the times after the first drawing, which does not need them. */
function startTimes() {
	if (!moments())
		return;
	fillThreads();
	tellRange();
	redraw();
}
function start() {
	readTheme();
	if (B)
		for (const id of ['side-label', 'colour-label', 'th-change', 'th-grown', 'help-swap'])
			$(id).hidden = false;
	$('th-line').hidden = !!B;
	fillKinds();
	if (!D.kinds.length) {
		$('empty').hidden = false;
		return;
	}
	hideDefault = isManaged();
	readLink(location.hash.slice(1));
	document.body.dataset.ready = String(T.len);
	setTimeout(startTimes, 30);
}
start();
