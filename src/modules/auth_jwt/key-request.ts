import { LRUCache } from 'lru-cache';
import type { ComplexValue } from '../../config/index.ts';
import type { Build } from '../../contract/index.ts';
import { type Exchange, splitTarget, stateKey } from '../../http/index.ts';
import type { KeysOrFault } from '../../issuer/index.ts';
import { type KeyFormat, READERS } from './key-files.ts';
import type { KeyOrigin } from './key-ring.ts';

/** Longest response. */
const MOST_BYTES = 1_048_576;
/** URIs may contain variables. */
const MOST_RESPONSES = 100;

/** The responses to the requests for keys that a client's request has made, by form and URI. */
const RESPONSES = stateKey<Map<KeyOrigin, Map<string, KeysOrFault>>>('auth_jwt_key_request');

/** Responses that locations of one config keep. */
export type KeptResponses = LRUCache<string, KeysOrFault>;

/** Opens the memory for responses that are kept for `cacheMs`; `undefined`: none is kept. */
export function keptResponses(cacheMs: number): KeptResponses | undefined {
  return cacheMs > 0 ? new LRUCache({ max: MOST_RESPONSES, ttl: cacheMs }) : undefined;
}

/** Compiles `auth_jwt_key_request uri`: a subrequest whose response is a JWK set or an object with keys. */
export function compileKeyRequest(
  { uri, format = 'jwks' }: { readonly uri: ComplexValue; readonly format?: KeyFormat },
  kept: KeptResponses | undefined,
  build: Build,
): KeyOrigin {
  const uriOf = build.value(uri);
  const host = build.variable('host');
  // The response may be that of a tenant: another host may have other keys.
  const nameOf = (x: Exchange, target: string): string => `${format} ${host(x) ?? ''} ${target}`;
  const origin: KeyOrigin = {
    isOfRequest: true,
    known(x) {
      const target = uriOf(x);
      const name = nameOf(x, target);
      const keys = kept?.get(name) ?? x.main.state(RESPONSES)?.get(origin)?.get(name);
      return keys ?? { fault: `no keys from "${target}"` };
    },
    ask(x, missing) {
      const target = uriOf(x);
      const name = nameOf(x, target);
      const responses = responsesOf(x.main, origin);
      if (target === '' || missing === 'one' || responses.has(name)) return undefined;
      return request(x, target, format).then((keys) => {
        responses.set(name, keys);
        if (!('fault' in keys)) kept?.set(name, keys);
      });
    },
  };
  return origin;
}

/** The responses that a location has got for a request; another location may get others for the same URI. */
function responsesOf(main: Exchange, origin: KeyOrigin): Map<string, KeysOrFault> {
  const all = main.state(RESPONSES) ?? new Map<KeyOrigin, Map<string, KeysOrFault>>();
  const own = all.get(origin) ?? new Map<string, KeysOrFault>();
  all.set(origin, own);
  main.setState(RESPONSES, all);
  return own;
}

async function request(x: Exchange, target: string, format: KeyFormat): Promise<KeysOrFault> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const { path, args } = splitTarget(target);
  const { status } = await x.subrequest({
    uri: path,
    args,
    keep: (piece) => {
      bytes += piece.byteLength;
      // The piece is only valid during this call.
      if (bytes <= MOST_BYTES) pieces.push(Uint8Array.from(piece));
      return Promise.resolve();
    },
  });
  const fault = (why: string): KeysOrFault => ({ fault: `no keys from "${target}": ${why}` });
  if (status !== 200) return fault(`status ${status}`);
  if (bytes > MOST_BYTES) return fault('more than 1 MiB');
  const keys = READERS[format](Buffer.concat(pieces).toString());
  return 'fault' in keys ? fault(keys.fault) : keys;
}
