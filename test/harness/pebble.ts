import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Certificates } from './certificates.ts';
import type { Owner } from './owner.ts';
import { freePort } from './ports.ts';
import { findProgram } from './programs.ts';

/** Let's Encrypt's server for tests; without it, what only it can confirm is skipped. */
export const HAS_PEBBLE = findProgram('pebble') !== undefined;

interface PebbleOptions {
  /** Where it looks at http-01, at the addresses that its resolver gives. */
  readonly httpPort: number;
  readonly tlsPort: number;
  /** `host:port` of a name server. */
  readonly dns?: string;
  readonly externalAccounts?: Readonly<Record<string, string>>;
  /** Percent of good nonces that are refused; its own default: 5. */
  readonly nonceRejections?: number;
  /** Percent of valid authorizations that are used again; its own default: 50. */
  readonly reuses?: number;
  /** Chains besides the first. */
  readonly alternateRoots?: number;
  /** True: challenges are not looked at. */
  readonly alwaysValid?: boolean;
}

/** A running Pebble. */
export interface Pebble {
  /** Of the directory. */
  readonly url: string;
  /** The certificate in PEM that its server shows, and the file with it. */
  readonly ca: string;
  readonly caFile: string;
  /** A root certificate in PEM. */
  root(number?: number): Promise<string>;
  /** What it says of a certificate, by its serial number in hexadecimal digits. */
  certStatus(serial: string): Promise<{ readonly Status: string; readonly Reason?: number }>;
}

/** Starts Pebble on free ports until its owner ends. */
export async function startPebble(t: Owner, options: PebbleOptions): Promise<Pebble> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-pebble-'));
  chmodSync(dir, 0o755);
  const certificates = new Certificates();
  certificates.authority('ca');
  certificates.signed('server', 'ca', { names: ['localhost'] });
  const [port, managementPort] = [await freePort(), await freePort()];
  const ca = certificates.read('ca.crt');
  const caFile = join(dir, 'ca.crt');
  writeFileSync(caFile, ca);
  const config = join(dir, 'pebble.json');
  writeFileSync(config, configOf(options, { port, managementPort, certificates }));
  const pebble = spawn(findProgram('pebble') ?? 'pebble', argumentsOf(options, config), {
    cwd: dir,
    env: { ...process.env, ...environmentOf(options) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.onTestFinished(() => stopped(pebble));
  await listening(pebble);
  await answering(port);
  await answering(managementPort);
  const manage = (path: string): Promise<string> => fetched(`https://localhost:${managementPort}${path}`, ca);
  return {
    url: `https://localhost:${port}/dir`,
    ca,
    caFile,
    root: (number = 0) => manage(`/roots/${number}`),
    certStatus: async (serial) =>
      JSON.parse(await manage(`/cert-status-by-serial/${serial}`)) as { Status: string },
  };
}

function configOf(
  { httpPort, tlsPort, externalAccounts }: PebbleOptions,
  own: { readonly port: number; readonly managementPort: number; readonly certificates: Certificates },
): string {
  return JSON.stringify({
    pebble: {
      listenAddress: `127.0.0.1:${own.port}`,
      managementListenAddress: `127.0.0.1:${own.managementPort}`,
      certificate: own.certificates.path('server.crt'),
      privateKey: own.certificates.path('server.key'),
      httpPort,
      tlsPort,
      ocspResponderURL: '',
      externalAccountBindingRequired: externalAccounts !== undefined,
      ...(externalAccounts && { externalAccountMACKeys: externalAccounts }),
    },
  });
}

function argumentsOf({ dns }: PebbleOptions, config: string): string[] {
  return ['-config', config, '-strict', ...(dns === undefined ? [] : ['-dnsserver', dns])];
}

function environmentOf(options: PebbleOptions): Record<string, string> {
  const { nonceRejections, reuses, alternateRoots, alwaysValid } = options;
  return {
    PEBBLE_VA_NOSLEEP: '1',
    ...(nonceRejections !== undefined && { PEBBLE_WFE_NONCEREJECT: String(nonceRejections) }),
    ...(reuses !== undefined && { PEBBLE_AUTHZREUSE: String(reuses) }),
    ...(alternateRoots !== undefined && { PEBBLE_ALTERNATE_ROOTS: String(alternateRoots) }),
    ...(alwaysValid === true && { PEBBLE_VA_ALWAYS_VALID: '1' }),
  };
}

/** Resolves when Pebble says that it listens. It blocks when nobody reads what it says. */
function listening(pebble: ChildProcess): Promise<void> {
  let said = '';
  return new Promise((resolve, reject) => {
    const hear = (piece: Buffer): void => {
      said = (said + String(piece)).slice(-10_000);
      if (/ACME directory available|Listening on:/.test(said)) resolve();
    };
    pebble.stdout?.on('data', hear);
    pebble.stderr?.on('data', hear);
    pebble.on('error', reject);
    pebble.on('exit', () => reject(new Error(`pebble has ended: ${said}`)));
  });
}

/** Pebble says so before it does. */
async function answering(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await setImmediate();
  }
}

async function stopped(pebble: ChildProcess): Promise<void> {
  if (pebble.exitCode !== null || pebble.signalCode !== null) return;
  pebble.kill();
  await once(pebble, 'exit');
}

function fetched(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { ca, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve(Buffer.concat(pieces).toString()));
    });
    asking.on('error', reject).end();
  });
}
