# SPDX-License-Identifier: Apache-2.0
"""Checks how the Debian package starts and stops its service, by the maintainer scripts that
debhelper makes. The scripts are read. As root, dpkg runs them on a copy of this host, with a
systemctl(1) that logs its calls.

usage: debian.py ROOT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PACKAGE = 'otelprof'


def scripts(root):
    """The parts of the maintainer scripts, by script."""
    rules = (root / 'debian/rules').read_text()
    command = re.search(r'^override_dh_installsystemd:\n\t(dh_installsystemd.*)$', rules, re.M).group(1)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(root / 'debian', folder + '/debian')
        shutil.copy(root / 'examples/systemd/otelprof.service', folder + '/debian/')
        unit = pathlib.Path(folder, 'debian', PACKAGE, 'usr/lib/systemd/system')
        unit.mkdir(parents=True)
        subprocess.run([*command.split(), '--package', PACKAGE], cwd=folder, check=True)
        made = {}
        for path in pathlib.Path(folder, 'debian').rglob('*'):
            match = re.match(r'otelprof\.(pre|post)(inst|rm)\.debhelper$|(postinst|prerm)\.service$', path.name)
            if match and path.is_file():
                name = re.search(r'(pre|post)(inst|rm)', str(path)).group()
                made[name] = made.get(name, '') + path.read_text()
        return made


def complaints(made):
    install, remove, before = (made.get(name, '') for name in ('postinst', 'prerm', 'preinst'))
    if 'deb-systemd-invoke $_dh_action' not in install or '_dh_action=restart' not in install:
        yield 'postinst does not restart the service at an upgrade'
    if 'deb-systemd-helper enable' in install and 'debian-installed' not in install:
        yield 'postinst enables the service'
    if not re.search(r'"\$1" = remove .*\n\s*deb-systemd-invoke stop', remove):
        yield 'prerm does not stop the service at a removal'
    if 'deb-systemd-invoke stop' in before:
        yield 'preinst stops the service, and nothing starts it again'
    if re.search(r'deb-systemd-invoke stop', re.sub(r'if [^\n]*"\$1" = remove.*?\nfi', '', remove, flags=re.S)):
        yield 'prerm stops the service at an upgrade'

UNIT = '/usr/lib/systemd/system/otelprof.service'
# logs the calls of systemctl(1); a unit runs from start or restart to stop
SYSTEMCTL = '''#!/bin/sh
echo "systemctl $*" >> /calls
case "$*" in
*is-enabled*) ls /etc/systemd/system/*.wants/otelprof.service > /dev/null 2>&1 && echo enabled || { echo disabled; exit 1; } ;;
*is-active*) [ -e /running ] ;;
*enable*--now*) mkdir -p /etc/systemd/system/multi-user.target.wants
	ln -sf /usr/lib/systemd/system/otelprof.service /etc/systemd/system/multi-user.target.wants/
	touch /running ;;
*restart*|*start*) [ -e /usr/lib/systemd/system/otelprof.service ] && touch /running ;;
*stop*) rm -f /running ;;
esac
'''
MOUNT = '''mount --make-rprivate / && mount -t tmpfs none "$1" && cd "$1" && mkdir up work root &&
mount -t overlay -o lowerdir=/,upperdir="$1/up",workdir="$1/work" none root &&
mkdir -p root/run/systemd/system root/debs && cp "$2"/*.deb root/debs/ && cp "$2/systemctl" root/usr/bin/systemctl &&
rm -f root/usr/sbin/policy-rc.d && exec chroot root sh -c "$3"
'''
# a step, whether the service runs after it, and the calls of systemctl
SCENES = (
    ('dpkg -i /debs/1.deb', False, ''),
    ('dpkg -i /debs/2.deb', False, ''),  # nobody started it
    ('systemctl enable --now otelprof.service', True, ''),
    ('dpkg -i /debs/3.deb', True, 'restart'),
    ('dpkg -i /debs/1.deb', True, 'restart'),  # a downgrade
    ('dpkg -i /debs/3.deb', True, 'restart'),
    ('systemctl stop otelprof.service; dpkg -i /debs/2.deb', True, 'stop restart'),  # it is enabled
    ('touch /var/lib/otelprof/spilled; dpkg -r otelprof', False, 'stop'),
    ('dpkg -i /debs/2.deb', True, 'restart'),  # it is enabled, as before
    ('dpkg -r otelprof; dpkg --purge otelprof', False, 'stop'),
)
LEFT = f'ls -d /etc/systemd/system/*.wants/otelprof.service /var/lib/otelprof {UNIT} 2>/dev/null'


def packages(root, made, folder):
    """Packages with only the unit and the scripts, in three versions."""
    own = (root / 'debian/otelprof.postrm').read_text().replace('#DEBHELPER#', made.get('postrm', ''))
    for version in '123':
        package = pathlib.Path(folder, version)
        (package / 'DEBIAN').mkdir(parents=True)
        (package / 'DEBIAN/control').write_text(
            f'Package: {PACKAGE}\nVersion: {version}\nArchitecture: all\nMaintainer: x <x@y>\nDescription: x\n')
        for name, text in {**{n: '#!/bin/sh\nset -e\n' + t for n, t in made.items()}, 'postrm': own}.items():
            (package / 'DEBIAN' / name).write_text(text)
            (package / 'DEBIAN' / name).chmod(0o755)
        (package / UNIT[1:]).parent.mkdir(parents=True)
        shutil.copy(root / 'examples/systemd/otelprof.service', package / UNIT[1:])
        subprocess.run(['dpkg-deb', '-b', package, f'{folder}/{version}.deb'], check=True, stdout=subprocess.DEVNULL)
    pathlib.Path(folder, 'systemctl').write_text(SYSTEMCTL)
    pathlib.Path(folder, 'systemctl').chmod(0o755)


def played(root, made):
    """For each step of SCENES, whether the service ran and the calls, on a copy of this host."""
    script = 'mkdir -p /var/lib/otelprof\n'
    for step, _, _ in SCENES:
        script += (f': > /calls; ({step}) > /log 2>&1 || cat /log >&2; [ -e /running ] && echo running || echo stopped;'
                   ' grep -oE "\\b(start|stop|restart)\\b" /calls | tr "\\n" " "; echo\n')
    script += f'echo left $({LEFT})\n'
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as scratch:
        packages(root, made, folder)
        r = subprocess.run(['unshare', '-m', 'sh', '-c', MOUNT, 'sh', scratch, folder, script], check=False,
                           capture_output=True, text=True)
    return r


def scenes(root, made):
    r = played(root, made)
    lines = r.stdout.splitlines()
    if len(lines) != 2 * len(SCENES) + 1:
        print('SKIP: no copy of the host:', r.stderr.strip()[-300:])
        return
    for i, (step, runs, calls) in enumerate(SCENES):
        state, asked = lines[2 * i:2 * i + 2]
        print(f'{step}: {state}, asked for: {asked.strip() or "nothing"}')
        if (state == 'running') != runs or asked.split() != calls.split():
            yield f'"{step}": {state} after {asked!r}, and not {"running" if runs else "stopped"} after {calls!r}'
    if lines[-1] != 'left':
        yield f'purge leaves {lines[-1][5:]}'


def main(root):
    if not shutil.which('dh_installsystemd'):
        print('SKIP: there is no debhelper')
        return SKIPPED
    made = scripts(pathlib.Path(root))
    bad = list(complaints(made))
    if os.geteuid() == 0 and shutil.which('deb-systemd-invoke'):
        bad += scenes(pathlib.Path(root), made)
    for sentence in bad:
        print(f'debian/rules: {sentence}')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
