import type { HttpResponse } from 'uWebSockets.js';
import { printedAddress } from '../admission.ts';

/**
 * The address that all open connections of an App come from, as long as it is one: that of a balancer, for example. Asking
 * the engine for the address of a request takes a third of the time of a small request.
 */
export class CommonPeer {
  #address: string | undefined = undefined;
  #newest = '';
  #open = 0;
  readonly #isUnix: boolean;

  constructor(isUnix: boolean) {
    this.#isUnix = isUnix;
  }

  /** `undefined` if there may be several. */
  get address(): string | undefined {
    return this.#address;
  }

  /** The address of the connection that was opened last. */
  get newest(): string {
    return this.#newest;
  }

  opened(res: HttpResponse): void {
    const bytes = res.getRemoteAddress();
    this.#newest = printedAddress(bytes);
    // A client that has just reset its connection has no address.
    const known = bytes.byteLength > 0 || this.#isUnix ? this.#newest : undefined;
    if (this.#open === 0) this.#address = known;
    else if (known !== this.#address) this.#address = undefined;
    this.#open++;
  }

  closed(): void {
    this.#open--;
  }
}
