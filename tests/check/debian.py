# SPDX-License-Identifier: Apache-2.0
"""What the Debian package does with its service, by the maintainer scripts that debhelper makes.

usage: debian.py ROOT
"""
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


def main(root):
    if not shutil.which('dh_installsystemd'):
        print('SKIP: there is no debhelper')
        return SKIPPED
    bad = list(complaints(scripts(pathlib.Path(root))))
    for sentence in bad:
        print(f'debian/rules: {sentence}')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
