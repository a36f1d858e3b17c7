import { type Exchange, Handover } from '../../http/index.ts';
import { SsiFault, textOf } from './values.ts';

/** The target of an `include`: a decoded path and its query. */
interface IncludedUri {
  readonly uri: string;
  readonly args: string;
}

/** Reads the target of `include`: `%XX` in the path is decoded once; `%3F` does not begin a query. */
export function includedUri(target: string, page: string): IncludedUri {
  const [path = '', args = ''] = splitQuery(target);
  const absolute = path.startsWith('/') ? path : page.slice(0, page.lastIndexOf('/') + 1) + path;
  const uri = textOf(
    absolute.replaceAll(/%([\dA-Fa-f]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ),
  );
  if (uri.split('/').includes('..') || uri.includes('\0'))
    throw new SsiFault(`unsafe URI "${target}" was detected`);
  return { uri, args };
}

function splitQuery(target: string): readonly string[] {
  const at = target.indexOf('?');
  return at < 0 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

/** A response that becomes a part of a page. It is requested at `begin`, and read as fast as the client takes it. */
export class Inclusion {
  readonly hasStub: boolean;
  readonly #x: Exchange;
  readonly #target: IncludedUri;
  readonly #response = new Handover();
  #isBegun = false;
  /** A part of the response has been taken. */
  #hasOutput = false;

  constructor(x: Exchange, target: IncludedUri, hasStub: boolean) {
    this.#x = x;
    this.#target = target;
    this.hasStub = hasStub;
  }

  begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    const keep = (piece: Uint8Array, { status }: { readonly status: number }): Promise<void> => {
      // A stub takes the place of an error.
      if (this.hasStub && !this.#hasOutput && status >= 400) return Promise.resolve();
      this.#hasOutput = true;
      return this.#response.give(piece);
    };
    void this.#x.subrequest({ ...this.#target, keep }).then(() => this.#response.end());
  }

  async *pieces(): AsyncIterable<Uint8Array> {
    this.begin();
    yield* this.#response.pieces();
  }

  /** True if the stub is shown; final when all pieces are taken. */
  get needsStub(): boolean {
    return this.hasStub && !this.#hasOutput;
  }

  close(): void {
    this.#response.close();
  }
}

/** Reads a response into memory for a variable; `undefined` unless the status is a success. */
export async function includedText(x: Exchange, target: IncludedUri): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const response = await x.subrequest({
    ...target,
    keep: (piece, { rules }) => {
      bytes += piece.byteLength;
      if (bytes <= rules.maxKeptBytes) pieces.push(Uint8Array.from(piece));
      return Promise.resolve();
    },
  });
  if (bytes > response.rules.maxKeptBytes) throw new Error(`too big subrequest response: ${bytes}`);
  return response.status < 300 ? Buffer.concat(pieces).toString('latin1') : undefined;
}
