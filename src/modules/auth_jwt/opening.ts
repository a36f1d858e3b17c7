import { type Exchange, stateKey } from '../../http/index.ts';
import type { Decrypter, Opened } from '../../tokens/index.ts';
import type { KeyRing } from './key-ring.ts';

/** What was found in the token of a request, if it was opened for this request only. */
const OPENED = stateKey<OpenedHere>('auth_jwt opened');

interface OpenedHere {
  readonly of: string;
  /** The id of the keys: another location may have others. */
  readonly by: string;
  readonly opened: Opened;
}

/** Opens the encrypted tokens of a location's requests with its own keys. */
export class TokenOpening {
  /** Whoever has encrypted a token for this location. */
  readonly sender: { readonly keys: KeyRing };
  /** True if a signed token is inside. */
  readonly isNested: boolean;
  readonly #decrypter: Decrypter;
  readonly #keys: KeyRing;

  constructor(keys: KeyRing, decrypter: Decrypter, { isNested }: { readonly isNested: boolean }) {
    this.sender = { keys };
    this.isNested = isNested;
    this.#decrypter = decrypter;
    this.#keys = keys;
  }

  /** What is in a token; `undefined`: it has to be waited for. */
  of(x: Exchange, token: string): Opened | undefined {
    const { keys } = this.#keys.of(x, Date.now());
    const here = x.main.state(OPENED);
    const isOfThese = here?.of === token && here.by === keys.id;
    return this.#decrypter.known(token, keys) ?? (isOfThese ? here.opened : undefined);
  }

  /** Opens a token; `undefined`: that has been done. */
  wait(x: Exchange, token: string): Promise<void> | undefined {
    return this.of(x, token) ? undefined : this.#open(x, token);
  }

  async #open(x: Exchange, token: string): Promise<void> {
    await this.#keys.ask(x, 'all', Date.now());
    let opened = await this.#openNow(x, token);
    if ('refused' in opened && opened.subject !== undefined) {
      await this.#keys.ask(x, 'one', Date.now());
      opened = await this.#openNow(x, token);
    }
    const { keys } = this.#keys.of(x, Date.now());
    x.main.setState(OPENED, { of: token, by: keys.id, opened });
  }

  async #openNow(x: Exchange, token: string): Promise<Opened> {
    const { keys, faults } = this.#keys.of(x, Date.now());
    const opened = await this.#decrypter.open(token, keys);
    const mayHaveKey = 'refused' in opened && faults.length > 0;
    return mayHaveKey ? { fault: faults.join('; ') } : opened;
  }
}
