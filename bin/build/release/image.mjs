import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tar } from './archive.mjs';
import { debianComponents } from './components.mjs';
import { controlOf, link, stageDeb } from './deb.mjs';
import { setKind } from './linux-program.mjs';
import { writeLayout } from './oci.mjs';
import { run } from './run.mjs';

const SUITE = 'trixie';

/** What gw needs of Debian, what scripts in the container need (busybox), and what passes signals on (tini). */
const PACKAGES = [
  'base-files',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'ca-certificates',
  'netbase',
  'busybox',
  'tini',
];

const BASE_HOOK = fileURLToPath(new URL('image-base.mjs', import.meta.url));
const ARCHITECTURE = 'amd64';
/** The account that serves, as in many images; that of the Dockerfile, too. */
const ACCOUNT = 999;

/**
 * Makes `gw-V-image-oci.tar`, an OCI image for amd64: a layer of Debian's packages, one of gw's. Needs
 * mmdebstrap, which works as root or where unprivileged user namespaces are allowed; no container engine.
 */
export async function make(release) {
  const scratch = release.scratch('image');
  const layers = [
    await baseLayer(release, join(scratch, 'base.tar')),
    await programLayer(release, join(scratch, 'program')),
  ];
  const layout = join(scratch, 'layout');
  await writeLayout(layout, {
    layers,
    config: imageSettings(release),
    architecture: ARCHITECTURE,
    created: timeOf(release),
    name: `gw:${release.version.replace('+', '-')}`,
  });
  const file = join(release.out, `gw-${release.version}-image-oci.tar`);
  return [await tar(layout, file, { flat: true })];
}

/** Debian, and what the account of the image owns: a template may take the place of the server in it. */
async function baseLayer({ source, components }, file) {
  const server = join(source, 'conf/deploy/container-default.conf');
  const hook = `"${process.execPath}" "${BASE_HOOK}" "$1" "${server}" ${ACCOUNT} ${PACKAGES.join(' ')}`;
  await run('mmdebstrap', [
    '--variant=extract',
    `--architectures=${ARCHITECTURE}`,
    `--include=${PACKAGES.join(',')}`,
    `--extract-hook=${hook}`,
    '--skip=output/dev',
    SUITE,
    file,
  ]);
  const described = ['--wildcards', './var/lib/dpkg/status.d/*', '--to-command=cat; echo'];
  components.push(...debianComponents(await run('tar', ['-xf', file, ...described])));
  await run('gzip', ['-9n', file]);
  return `${file}.gz`;
}

/** The files of the package, with the links and the entry point of the image. */
async function programLayer(release, directory) {
  const root = await stageDeb(release, ARCHITECTURE);
  const control = await controlOf(release, root, ARCHITECTURE);
  await run('mv', [root, directory]);
  const program = join(directory, 'usr/lib/gw');
  for (const path of ['etc/logrotate.d', 'etc/gw/gateway.conf', 'usr/lib/systemd', 'usr/share/lintian'])
    await run('rm', ['-r', join(directory, path)]);
  setKind(program, 'image');
  copyFileSync(join(program, 'conf/deploy/container.conf'), join(directory, 'etc/gw/nginx.conf'));
  link(directory, 'docker-entrypoint.sh', 'usr/lib/gw/conf/deploy/docker-entrypoint.sh');
  link(
    directory,
    'docker-entrypoint.d/20-envsubst-on-templates.sh',
    '../usr/lib/gw/conf/deploy/fill-templates.sh',
  );
  link(directory, 'usr/sbin/nginx', '../bin/gw');
  mkdirSync(join(directory, 'var/lib/dpkg/status.d'), { recursive: true });
  writeFileSync(join(directory, 'var/lib/dpkg/status.d/gw'), control);
  return tar(directory, `${directory}.tar.gz`, { compress: 'gzip', flat: true });
}

/** How a container is started, in the words of the OCI image specification. */
export function imageSettings({ version, commit, epoch, repository }) {
  const label = (name, value) => (value === undefined ? [] : [[`org.opencontainers.image.${name}`, value]]);
  return {
    User: `${ACCOUNT}:${ACCOUNT}`,
    ExposedPorts: { '8080/tcp': {} },
    Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    Entrypoint: ['/usr/bin/tini', '--', '/docker-entrypoint.sh'],
    Cmd: ['gw', '-g', 'daemon off;'],
    WorkingDir: '/var/lib/gw',
    StopSignal: 'SIGQUIT',
    Labels: Object.fromEntries([
      ...label('title', 'gw'),
      ...label('description', 'HTTP gateway with the configuration language of nginx'),
      ...label('version', version),
      ...label('revision', commit),
      ...label('created', timeOf({ epoch })),
      ...label('licenses', 'Apache-2.0'),
      ...label('source', repository),
    ]),
  };
}

/** The time of the commit (RFC 3339). */
function timeOf({ epoch }) {
  return new Date(epoch * 1000).toISOString().replace('.000', '');
}
