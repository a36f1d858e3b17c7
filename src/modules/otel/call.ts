import type { Caller, Carrier, Carriers, ResponseHead, UpstreamFault } from '../../client/index.ts';

/** Time for a call, from connecting to the end of the response. */
const CALL_MS = 10_000;
const HEAD_BYTES = 65_536;
/** Longest body of a response that is read; collectors send a few bytes. */
const BODY_BYTES = 65_536;

/** What a collector is sent. */
export interface CallRequest {
  /** For HTTP/1. */
  readonly head: string;
  /** For HTTP/2. */
  readonly fields?: readonly string[];
  readonly body: Uint8Array;
}

/** A complete response. */
export interface CallResponse {
  readonly status: number;
  /** Name, value … */
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
  readonly body: Buffer;
}

/** Where a call goes. */
interface Destination {
  readonly address: string;
  /** The name that the certificate must have. */
  readonly name: string;
}

/** The result of a call: a response, or the reason why there is none. */
export type CallOutcome = CallResponse | string;

/** One request to a collector. It is settled once: at the latest after ten seconds, or when it is cancelled. */
export class Call implements Caller {
  readonly method = 'POST';
  readonly sendTimeoutMs = CALL_MS;
  readonly readTimeoutMs = CALL_MS;
  readonly headLimitBytes = HEAD_BYTES;
  readonly #carriers: Carriers;
  readonly #to: Destination;
  readonly #request: CallRequest;
  readonly #settled: (outcome: CallOutcome) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #head: ResponseHead | undefined;
  #carrier: Carrier | undefined;
  #giveUp: (() => void) | undefined;
  #isOver = false;

  constructor(
    carriers: Carriers,
    { to, request }: { readonly to: Destination; readonly request: CallRequest },
    settled: (outcome: CallOutcome) => void,
  ) {
    this.#carriers = carriers;
    this.#to = to;
    this.#request = request;
    this.#settled = settled;
    this.#timer = setTimeout(() => this.cancel(`no response within ${CALL_MS / 1_000} s`), CALL_MS);
  }

  begin(): void {
    const { address, name } = this.#to;
    const kept = this.#carriers.take(peerOf(address), this.#carriers.isTls ? name : '');
    if (kept) this.#use(kept);
    else this.#open();
  }

  /** Ends the call with a reason. */
  cancel(reason: string): void {
    this.#settle(reason);
  }

  head(head: ResponseHead): void {
    this.#head = head;
  }

  piece(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > BODY_BYTES) this.#settle(`the response is longer than ${BODY_BYTES} bytes`);
    // The buffer of a connection is used again.
    else this.#pieces.push(Buffer.from(bytes));
  }

  end(trailers: readonly string[] | undefined): void {
    // The connection may already be somebody else's.
    this.#carrier = undefined;
    const head = this.#head;
    if (!head) return this.#settle('no response');
    const { status, headers } = head;
    this.#settle({ status, headers, trailers: trailers ?? [], body: Buffer.concat(this.#pieces) });
  }

  fault(fault: UpstreamFault): void {
    const wasKept = this.#carrier?.isKept === true;
    this.#carrier = undefined;
    // The collector may have closed a kept connection meanwhile.
    if (wasKept && !this.#isOver && fault.kind === 'error' && !this.#head) this.#open();
    else this.#settle(fault.message);
  }

  follow(): void {}

  drained(): void {}

  switched(): void {
    this.#settle('the collector changed the protocol');
  }

  #open(): void {
    const { address, name } = this.#to;
    this.#giveUp = this.#carriers.open(
      peerOf(address),
      { timeoutMs: CALL_MS, name, sendsName: true },
      {
        opened: (carrier) => this.#use(carrier),
        refused: (fault) => this.#settle(fault.message),
      },
    );
  }

  #use(carrier: Carrier): void {
    this.#giveUp = undefined;
    this.#carrier = carrier;
    const { head, fields, body } = this.#request;
    carrier.begin(this, { head, ...(fields && { fields }) }, body);
  }

  #settle(outcome: CallOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    const [giveUp, carrier] = [this.#giveUp, this.#carrier];
    this.#giveUp = this.#carrier = undefined;
    giveUp?.();
    carrier?.destroy();
    this.#settled(outcome);
  }
}

function peerOf(address: string): { readonly address: string; readonly name: string; readonly id: string } {
  return { address, name: address, id: address };
}
