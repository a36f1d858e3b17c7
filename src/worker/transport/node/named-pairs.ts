import { LRUCache } from 'lru-cache';
import type { FileName, PairPaths } from '../../../contract/index.ts';
import type { TlsPlan } from '../../../plan/index.ts';
import { certificateFiles, type FileVersion, readCertificate, readKey } from '../../../system/index.ts';

/** Maximum number of plans that are kept, each until its files change. */
const MAX_KEPT = 1_000;

interface PairVersions {
  readonly certificate: FileVersion;
  readonly key: FileVersion;
}

/** Reads the certificates and keys whose names contain variables (`ssl_certificate $ssl_server_name.pem`). */
export class NamedPairs {
  readonly #kept = new LRUCache<string, TlsPlan>({ max: MAX_KEPT });
  readonly #ids = new WeakMap<TlsPlan, number>();
  #lastId = 0;

  /** Returns the settings with the pairs of a handshake. Throws if they cannot be read. */
  plan(plan: TlsPlan, pairs: readonly PairPaths[]): TlsPlan {
    const files = certificateFiles(plan.certificateCache);
    const now = Date.now();
    const versions = pairs.map(({ certificate, key }) => ({
      certificate: files.version(certificate, now),
      key: files.version(key, now),
    }));
    const id = [this.#idOf(plan), ...versions.flatMap(({ certificate, key }) => [certificate.id, key.id])];
    const known = this.#kept.get(id.join(' ')) ?? withPairs(plan, versions);
    this.#kept.set(id.join(' '), known);
    return known;
  }

  #idOf(plan: TlsPlan): number {
    const id = this.#ids.get(plan) ?? ++this.#lastId;
    this.#ids.set(plan, id);
    return id;
  }
}

function withPairs(plan: TlsPlan, pairs: readonly PairVersions[]): TlsPlan {
  const { passwords } = plan;
  const read = pairs.map((pair) => {
    const certificate = readCertificate(nameOf(pair.certificate), contentOf(pair.certificate));
    const key = readKey(nameOf(pair.key), { certificate, passwords, read: contentOf(pair.key) });
    return { certificate, key };
  });
  return {
    ...plan,
    certificates: [...plan.certificates, ...read.map(({ certificate }) => certificate)],
    keys: [...plan.keys, ...read.map(({ key }) => key)],
  };
}

const nameOf = ({ path }: FileVersion): FileName => ({ text: path, path });
const contentOf = (file: FileVersion) => (): Buffer => Buffer.from(file.text());
