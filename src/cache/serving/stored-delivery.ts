import type { StoredEntry } from '../store/stored-entry.ts';
import type { StoredResponse } from '../store/entry-head.ts';
import { valuesOf } from '../store/lifetime.ts';
import {
  compileConditions,
  compileRanges,
  type Conditions,
  type Exchange,
  failRequest,
  type FileBody,
  isPlain,
  parseHttpDate,
  partialBody,
  type Ranges,
  refuseRange,
  singleBody,
  type Validators,
} from '../../http/index.ts';
import { FileSender, type PieceBuffers, type Source } from '../../bodies/index.ts';
import type { ResponseHead } from '../../client/index.ts';
import type { CacheBuild } from './policy.ts';
import type { AcceptedResponse, Delivery } from './response-keeper.ts';

/** The part of a body that a client gets. */
export interface Part {
  readonly status: number;
  readonly body: FileBody;
  /** The response came without a length, and is sent without one. */
  readonly hidesLength: boolean;
}

/** The source of a body that is already complete. */
const NOTHING_TO_PAUSE: Source = { trailers: [], pause: () => undefined, resume: () => undefined };

/** Sends responses that are stored or being stored. Conditions and ranges work as for files. */
export class StoredDelivery {
  readonly #delivery: Delivery;
  readonly #sender: FileSender;
  readonly #conditions: Conditions;
  readonly #ranges: Ranges;
  readonly #oneRange: Ranges;
  readonly #forcesRanges: boolean;

  constructor(
    delivery: Delivery,
    { buffers, forcesRanges }: { readonly buffers: PieceBuffers; readonly forcesRanges: boolean },
    build: CacheBuild,
  ) {
    const { ifModifiedSince, maxRanges } = build.core;
    this.#delivery = delivery;
    this.#sender = new FileSender(buffers, build.log);
    this.#conditions = compileConditions(ifModifiedSince, build);
    this.#ranges = compileRanges({ maxRanges }, build);
    this.#oneRange = compileRanges({ maxRanges: maxRanges === 0 ? 0 : 1 }, build);
    this.#forcesRanges = forcesRanges;
  }

  /** Sends a stored response, and releases the entry. */
  serve(x: Exchange, entry: StoredEntry, path: string): void {
    const { response } = entry.head;
    if (!response) return entry.release();
    const part = this.#partOf(x, headOf(response, entry.sizeBytes), entry);
    if (!part) return entry.release();
    const sending = this.#sender.send(x, entry, { ...part, path });
    sending?.catch((error: unknown) => failRequest(x, error));
  }

  #partOf(x: Exchange, head: ResponseHead, entry: StoredEntry): Part | undefined {
    try {
      this.#delivery.serves?.(x, head.headers);
      const accepted = this.#delivery.accept(x, head, NOTHING_TO_PAUSE);
      return accepted && this.decide(x, accepted, this.#ranges);
    } catch (error) {
      // A rule about headers may throw; the file must not stay open.
      entry.release();
      throw error;
    }
  }

  /** Decides which part of a response being stored the client gets. `undefined`: it has got another response. */
  decideFirst(x: Exchange, accepted: Pick<AcceptedResponse, 'head' | 'contentType'>): Part | undefined {
    return this.decide(x, accepted, this.#oneRange);
  }

  /** Decides which part the client gets. `undefined`: a 304, 412 or 416 was sent instead. */
  decide(
    x: Exchange,
    { head, contentType: type }: Pick<AcceptedResponse, 'head' | 'contentType'>,
    rangesOf: Ranges,
  ): Part | undefined {
    const { status, announcedBytes: sizeBytes } = head;
    const offersRanges = this.#forcesRanges || valuesOf(head.headers, 'accept-ranges').length > 0;
    x.response.removeHeader('Accept-Ranges');
    const whole: Part = {
      status,
      body: singleBody({ from: 0, to: Math.max(sizeBytes, head.bodyBytes, 0) }, type),
      hidesLength: sizeBytes < 0 && head.bodyBytes !== 0,
    };
    if (status !== 200) return whole;
    const validators = validatorsOf(head);
    if (this.#isDecided(x, validators)) return undefined;
    if (!offersRanges || sizeBytes < 0) return whole;
    x.response.removeHeader('Content-Range');
    const ranges = rangesOf(x, { sizeBytes, validators, type });
    if (ranges === 'whole') x.response.setKnownHeader('Accept-Ranges', 'bytes');
    if (ranges === 'whole' || ranges === 'not offered') return whole;
    x.errorStatus = 0;
    if (ranges !== 'unsatisfiable')
      return { status: 206, body: partialBody(x, ranges, { sizeBytes, type }), hidesLength: false };
    refuseRange(x, { type, sizeBytes });
    return undefined;
  }

  #isDecided(x: Exchange, validators: Validators): boolean {
    const verdict = isPlain(x) ? this.#conditions(x, validators) : 200;
    if (verdict === 200) return false;
    x.errorStatus = 0;
    if (verdict === 412) {
      x.response.clear();
      x.end(412);
      return true;
    }
    x.response.removeHeader('Content-Encoding');
    x.send(304, '', '');
    return true;
  }
}

function headOf(
  { status, reason, headers, isPlain: plain, announcedBytes }: StoredResponse,
  sizeBytes: number,
): ResponseHead {
  // A response to HEAD announces a body that it does not have.
  const lengthBytes = announcedBytes < 0 ? -1 : Math.max(announcedBytes, sizeBytes);
  return {
    status,
    reason,
    headers,
    isPlain: plain,
    bodyBytes: sizeBytes,
    announcedBytes: lengthBytes,
    keepsAlive: true,
  };
}

/** Returns the validators that conditions and ranges are compared with. */
export function validatorsOf({ headers }: ResponseHead): Validators {
  const [lastModified = ''] = valuesOf(headers, 'last-modified');
  const [etag = ''] = valuesOf(headers, 'etag');
  return { lastModified, etag, modifiedSeconds: parseHttpDate(lastModified) ?? Number.NaN };
}
