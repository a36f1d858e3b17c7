import { readFileSync, statSync } from 'node:fs';

/** `ssl_certificate_cache`: for how long files whose names contain variables count as they were read. */
export interface CertificateCache {
  readonly max: number;
  /** Files that are not used for so long are dropped. */
  readonly inactiveMs: number;
  /** Files are looked at again after so long. */
  readonly validMs: number;
}

/** The file of a certificate or key, as it was at one time. */
export interface FileVersion {
  readonly path: string;
  /** Another one if the file has another name or has changed. */
  readonly id: string;
  /** Returns the content; throws the system's error. */
  text(): string;
}

interface KeptFile {
  readonly id: string;
  readonly content: string;
  readonly readMs: number;
  usedMs: number;
}

/** Reads the files of certificates and keys when they are used. */
class CertificateFiles {
  readonly #cache: CertificateCache | undefined;
  /** The one that was used last comes last. */
  readonly #kept = new Map<string, KeptFile>();

  constructor(cache: CertificateCache | undefined) {
    this.#cache = cache;
  }

  /** A certificate and its key are asked for with the same `nowMs`: otherwise one could be new and the other not yet. */
  version(path: string, nowMs: number): FileVersion {
    const cache = this.#cache;
    if (!cache) return versionOf(path);
    const known = this.#kept.get(path);
    this.#kept.delete(path);
    const isUsed = known && nowMs - known.usedMs <= cache.inactiveMs;
    if (isUsed && nowMs - known.readMs <= cache.validMs) return this.#keep(path, { ...known, usedMs: nowMs });
    const version = versionOf(path);
    if (known?.id === version.id) return this.#keep(path, { ...known, readMs: nowMs, usedMs: nowMs });
    const content = contentOf(version);
    // As in nginx, an encrypted key is read each time.
    if (content === undefined || content.includes('ENCRYPTED')) return version;
    this.#drop(cache, nowMs);
    return this.#keep(path, { id: version.id, content, readMs: nowMs, usedMs: nowMs });
  }

  #keep(path: string, file: KeptFile): FileVersion {
    this.#kept.set(path, file);
    return { path, id: file.id, text: () => file.content };
  }

  /** Drops what was not used, and makes room for one file. */
  #drop({ max, inactiveMs }: CertificateCache, nowMs: number): void {
    for (const [path, { usedMs }] of this.#kept) {
      if (nowMs - usedMs <= inactiveMs && this.#kept.size < max) return;
      this.#kept.delete(path);
    }
  }
}

function versionOf(path: string): FileVersion {
  const found = statSync(path, { throwIfNoEntry: false });
  const state = found ? `${found.mtimeMs}/${found.size}/${found.ino}` : '';
  return { path, id: `${path} ${state}`, text: () => readFileSync(path, 'utf8') };
}

/** `undefined`: it cannot be read, which is told where it is needed. */
function contentOf(version: FileVersion): string | undefined {
  try {
    return version.text();
  } catch {
    return undefined;
  }
}

const UNCACHED = new CertificateFiles(undefined);
const byCache = new WeakMap<CertificateCache, CertificateFiles>();

/** Returns the files of a cache, which is shared by all who inherit its directive. `off`: files are looked at each time. */
export function certificateFiles(cache: CertificateCache | 'off'): Pick<CertificateFiles, 'version'> {
  if (cache === 'off') return UNCACHED;
  const known = byCache.get(cache) ?? new CertificateFiles(cache);
  byCache.set(cache, known);
  return known;
}
