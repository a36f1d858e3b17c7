import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { MODULE_NAMES } from '../src/tools/lookups.ts';
import { VERSION } from '../src/version.ts';
import { packageRoot, releaseFile } from './installation.ts';

/** What a release writes into `dist/release.json`. */
interface Release {
  readonly commit: string;
  /** The time of the commit (ISO 8601). */
  readonly date: string;
  /** What has been installed: npm, deb, tarball or image. */
  readonly kind: string;
}

interface NativePart {
  readonly name: string;
  /** Absent if it does not load. */
  readonly version?: string;
  /** Why it does not load. */
  readonly fault?: string;
}

/** What `gw version --json` prints. */
interface VersionFacts {
  readonly version: string;
  /** Absent in a checkout, as is the date. */
  readonly commit?: string;
  readonly date?: string;
  readonly installation: { readonly kind: string; readonly directory: string };
  readonly node: string;
  readonly v8: string;
  readonly openssl: string;
  readonly native: readonly NativePart[];
}

const KINDS: Readonly<Record<string, string>> = {
  npm: 'npm package',
  deb: 'Debian package',
  image: 'container image',
};

/** Packages with native code; of those in one row the first one that loads is used. */
const NATIVE = [['uWebSockets.js', 'uWebSockets.js-node24'], ['lmdb'], ['@node-rs/bcrypt']] as const;

/** The modules of nginx whose names differ from gw's. */
const NGINX_NAMES: Readonly<Record<string, readonly string[]>> = {
  sub_filter: ['sub'],
  static: ['static', 'gzip_static', 'random_index'],
};

/** Returns the lines of `-V` below the version: what gw was built from, what it runs on, and the modules. */
export function buildFacts(): string {
  const { commit, date, installation, node, v8, openssl, native } = versionFacts();
  const failed = native.flatMap(({ name, fault }) => (fault === undefined ? [] : [`${name} (${fault})`]));
  const loaded = native.flatMap(({ name, version }) => (version === undefined ? [] : [`${name} ${version}`]));
  return `built from ${commit === undefined ? 'a checkout' : `commit ${commit}, ${date}`}
installed as ${KINDS[installation.kind] ?? installation.kind} in ${installation.directory}
built with Node.js ${node} (V8 ${v8})
built with OpenSSL ${openssl}
native parts: ${loaded.join(', ')}
${failed.map((part) => `native part does not load: ${part}\n`).join('')}TLS SNI support enabled
configure arguments: ${configureArguments()}
`;
}

/** `gw version`: prints the version, or all facts as JSON. */
export function version({ json }: { readonly json?: boolean }): void {
  process.stdout.write(
    json === true ? `${JSON.stringify(versionFacts(), undefined, 2)}\n` : `gw version: gw/${VERSION}\n`,
  );
}

function versionFacts(): VersionFacts {
  const directory = packageRoot();
  const { kind = 'checkout', ...built } = readRelease() ?? {};
  const { node, v8, openssl } = process.versions;
  return {
    version: VERSION,
    ...built,
    installation: { kind, directory },
    node,
    v8,
    openssl,
    native: NATIVE.map(loadedPart),
  };
}

function readRelease(): Release | undefined {
  try {
    const { commit, date, kind } = readJson(releaseFile()) as Release;
    return { commit, date, kind };
  } catch {
    return undefined;
  }
}

function loadedPart(names: readonly [string, ...string[]]): NativePart {
  const require = createRequire(import.meta.url);
  const faults = [];
  for (const name of names) {
    try {
      require(name);
      return { name: names[0], version: versionOf(require.resolve(name), name) };
    } catch (error) {
      faults.push((error as Error).message.split('\n', 1)[0]);
    }
  }
  return { name: names[0], fault: faults.join('; ') };
}

/** Reads the version in the directory of a package, one of whose files is given. */
function versionOf(file: string, name: string): string {
  const below = `node_modules/${name}/`;
  const directory = file.slice(0, file.lastIndexOf(below) + below.length);
  return (readJson(`${directory}package.json`) as { readonly version: string }).version;
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function configureArguments(): string {
  const names = MODULE_NAMES.flatMap((name) => NGINX_NAMES[name] ?? [name]);
  return names.map((name) => `--with-http_${name}_module`).join(' ');
}
