import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { AppOptions, TemplatedApp } from 'uWebSockets.js';
import type { CertificatePair } from '../../../acme/index.ts';
import type { PortTls, TlsTarget } from '../../../compile/index.ts';
import type { OrderedPair, ServerName } from '../../../contract/index.ts';
import { shownOf, type TlsPlan } from '../../../plan/index.ts';
import type { Uws } from './loader.ts';

/** Opens a file without a name (open(2)). */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
/** uWebSockets.js compares at most so many labels of a name. */
const MAX_LABELS = 10;

/** What clients of a port are shown: settings with certificates, those included that are ordered while gw serves. */
export interface ShownTls {
  readonly fallback: TlsPlan;
  readonly named: readonly { readonly name: ServerName; readonly plan: TlsPlan }[];
  /** The ordered pairs of the servers; the same objects until they change. */
  readonly pairs: readonly (CertificatePair | undefined)[];
}

/** The ordered pairs of a port's servers, each once. */
export function orderedPairs({ fallback, named }: PortTls): readonly OrderedPair[] {
  const targets = [fallback, ...named.map(({ target }) => target)];
  return [...new Set(targets.flatMap((target) => orderedOf(target) ?? []))];
}

/** A server whose certificate is in files shows no other. */
const orderedOf = ({ plan, orderedPair }: TlsTarget): OrderedPair | undefined =>
  plan.named.length > 0 ? orderedPair : undefined;

/** Returns what clients of a port are shown from now on. */
export function shownTls(tls: PortTls): ShownTls {
  const ordered = new Map(orderedPairs(tls).map((each) => [each, each.pair]));
  const planOf = (target: TlsTarget): TlsPlan => {
    const own = orderedOf(target);
    const pair = own && ordered.get(own);
    if (!pair) return target.plan;
    return { ...target.plan, certificates: [pair.chain], keys: [{ pem: pair.key }] };
  };
  return {
    fallback: planOf(tls.fallback),
    named: tls.named.map(({ name, target }) => ({ name, plan: planOf(target) })),
    pairs: [...ordered.values()],
  };
}

/** Returns a digest of what clients are shown. Ports with equal digests need no other App. */
export function shownDigest({ fallback, named }: ShownTls): string {
  const shown = [shownOf(fallback), named.map(({ name, plan }) => [name, shownOf(plan)])];
  return createHash('sha256').update(JSON.stringify(shown)).digest('base64');
}

/** An App with the certificates of a port. */
interface TlsApp {
  readonly app: TemplatedApp;
  /** Frees what the names take. The App must have no connection: each uses the handlers of its name. */
  readonly strip: () => void;
}

/**
 * Opens an App with the certificates of a port. `route` gives its handlers to the App, and again for each name with a
 * certificate of its own: uWebSockets.js keeps handlers by name. Throws if it refuses a certificate, a key or a list of
 * ciphers.
 */
export function openTlsApp(
  uws: Uws,
  { key, tls }: { readonly key: string; readonly tls: ShownTls },
  route: (app: TemplatedApp) => void,
): TlsApp {
  const plans = [tls.fallback, ...tls.named.map(({ plan }) => plan)];
  const app = tryOpen(uws, tls.fallback, key);
  route(app);
  // One certificate serves all names.
  if (new Set(plans.map((plan) => JSON.stringify(shownOf(plan)))).size === 1)
    return { app, strip: () => undefined };
  // A name whose list of ciphers is refused would be left out without a word. An App that was opened is never freed.
  const lists = new Map(plans.map((plan) => [plan.ciphers, plan]));
  for (const [ciphers, plan] of lists) if (ciphers !== tls.fallback.ciphers) tryOpen(uws, plan, key);
  const names = new AppNames(app, tls, route);
  names.add(({ kind }) => kind === 'exact');
  // A wildcard stands for one label here; the patterns for more are added when a client asks for such a name.
  const deeper = new Set<number>();
  app.missingServerName((serverName) => {
    const labels = serverName.split('.').length;
    if (labels > MAX_LABELS || deeper.has(labels)) return;
    deeper.add(labels);
    names.add(({ kind }) => kind === 'leading wildcard', labels);
  });
  return { app, strip: () => names.strip() };
}

function tryOpen(uws: Uws, plan: TlsPlan, port: string): TemplatedApp {
  try {
    return withFiles(plan, (options) => uws.SSLApp(options));
  } catch {
    // It has no other reason to give than that "App construction failed".
    throw new Error(`${port}: uWebSockets.js refuses the certificate, its key, or "ssl_ciphers"`);
  }
}

/** The names of an App with certificates of their own. */
class AppNames {
  readonly #app: TemplatedApp;
  readonly #tls: ShownTls;
  readonly #route: (app: TemplatedApp) => void;
  readonly #added = new Set<string>();

  constructor(app: TemplatedApp, tls: ShownTls, route: (app: TemplatedApp) => void) {
    this.#app = app;
    this.#tls = tls;
    this.#route = route;
  }

  /** Adds the names of a kind. Wildcards are added as patterns of so many labels. The first server of a name has it. */
  add(isWanted: (name: ServerName) => boolean, labels = 0): void {
    for (const { name, plan } of this.#tls.named) {
      const pattern = isWanted(name) ? patternOf(name, labels) : undefined;
      if (pattern === undefined || this.#added.has(pattern)) continue;
      this.#added.add(pattern);
      withFiles(plan, (options) => this.#app.addServerName(pattern, options));
      this.#route(this.#app.domain(pattern));
    }
  }

  /** Removes all names. */
  strip(): void {
    // A name that was refused is found by the pattern that covers it, whose handlers would be freed twice: so that goes first.
    const widthOf = (pattern: string): number => pattern.split('*').length;
    const patterns = [...this.#added].sort((one, other) => widthOf(other) - widthOf(one));
    for (const pattern of patterns) this.#app.removeServerName(pattern);
    this.#added.clear();
  }
}

/** Returns a name as uWebSockets.js compares it, label by label; `undefined` if it has more labels. */
function patternOf(name: ServerName, labels: number): string | undefined {
  if (name.kind === 'exact') return name.name;
  if (name.kind !== 'leading wildcard') return undefined;
  const rest = name.suffix.split('.').slice(1);
  const wild = labels - rest.length;
  return wild < 1 ? undefined : [...Array<string>(wild).fill('*'), ...rest].join('.');
}

/**
 * Calls a function with the options of an App. uWebSockets.js reads certificates and keys from files only, so they are
 * written to files that have no name and exist only meanwhile.
 */
function withFiles<T>(
  { certificates, keys, ciphers, rejectHandshake }: TlsPlan,
  use: (options: AppOptions) => T,
): T {
  const [certificate] = certificates;
  const [key] = keys;
  // Without a certificate every handshake fails.
  if (rejectHandshake || certificate === undefined || !key) return use({});
  const opened: number[] = [];
  const held = (text: string): string => {
    const fd = openUnnamed();
    opened.push(fd);
    writeSync(fd, text);
    return `/proc/self/fd/${fd}`;
  };
  try {
    const { pem, passphrase } = key;
    return use({
      cert_file_name: held(certificate),
      key_file_name: held(pem),
      ssl_ciphers: ciphers,
      ...(passphrase !== undefined && { passphrase }),
    });
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

function openUnnamed(): number {
  const open = (directory: string): number => openSync(directory, O_TMPFILE | constants.O_RDWR, 0o600);
  try {
    return open('/dev/shm');
  } catch {
    return open(tmpdir());
  }
}
