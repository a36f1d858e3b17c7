import { readCertificate, readKey, type TlsPlan } from '../../../plan/index.ts';
import { statSync } from 'node:fs';

/** So many pairs are kept, for as long as their files do not change. */
const MAX_KEPT = 1_000;

/** A name of a server becomes a part of a path: labels of letters, digits, `-` and `_`, joined with dots. */
const SAFE_NAME = /^[\w-]+(?:\.[\w-]+)*$/;

interface KeptPlan {
  readonly plan: TlsPlan;
  /** The times and sizes of the files. */
  readonly state: string;
}

/** Reads the certificates whose names depend on the name that a client asks for (`ssl_certificate $ssl_server_name.pem`). */
export class ChosenCertificates {
  /** The one that was used last comes last. */
  readonly #kept = new Map<string, KeptPlan>();
  readonly #ids = new WeakMap<TlsPlan, number>();
  #lastId = 0;

  /** Gives the settings with the certificates for a name. Throws if they cannot be read. */
  plan(plan: TlsPlan, serverName: string): TlsPlan {
    if (serverName !== '' && !SAFE_NAME.test(serverName))
      throw new Error(`unsafe server name "${serverName}"`);
    const pairs = plan.chosen.map(({ certificate, key }) => ({
      certificate: pathFor(certificate, serverName),
      key: pathFor(key, serverName),
    }));
    const id = `${this.#idOf(plan)} ${serverName}`;
    const state = pairs.flatMap(({ certificate, key }) => [stateOf(certificate), stateOf(key)]).join(' ');
    const known = this.#kept.get(id);
    this.#kept.delete(id);
    const kept = known?.state === state ? known : { state, plan: withPairs(plan, pairs) };
    this.#kept.set(id, kept);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    return kept.plan;
  }

  #idOf(plan: TlsPlan): number {
    const id = this.#ids.get(plan) ?? ++this.#lastId;
    this.#ids.set(plan, id);
    return id;
  }
}

const pathFor = (template: string, serverName: string): string =>
  template.replaceAll(/\$(?:ssl_server_name\b|\{ssl_server_name\})/gi, () => serverName.toLowerCase());

function stateOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.mtimeMs}/${found.size}/${found.ino}` : '';
}

function withPairs(plan: TlsPlan, pairs: TlsPlan['chosen']): TlsPlan {
  const { passwords } = plan;
  const read = pairs.map(({ certificate: text, key }) => {
    const certificate = readCertificate({ text, path: text });
    return { certificate, key: readKey({ text: key, path: key }, { certificate, passwords }) };
  });
  return {
    ...plan,
    certificates: [...plan.certificates, ...read.map(({ certificate }) => certificate)],
    keys: [...plan.keys, ...read.map(({ key }) => key)],
    chosen: [],
  };
}
