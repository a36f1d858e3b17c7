import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { AcmeIdentifier, ChallengeType } from '../../../src/acme/plan.ts';
import { makeRequest } from '../../../src/acme/certificates/index.ts';
import { type AcmeClient, openAcmeClient } from '../../../src/acme/protocol/index.ts';

/** A client for tests, and what it has logged. */
interface TestClient {
  readonly client: AcmeClient;
  readonly accountKey: KeyObject;
  readonly logged: string[];
  readonly controller: AbortController;
}

type Issuer = Parameters<typeof openAcmeClient>[0]['issuer'];

export const newKey = (namedCurve = 'P-256'): KeyObject =>
  generateKeyPairSync('ec', { namedCurve }).privateKey;

/** Opens a client of the authority at a URL. */
export function clientOf(
  { url }: { readonly url: string },
  { accountKey = newKey(), ...issuer }: Partial<Issuer> & { readonly accountKey?: KeyObject } = {},
): TestClient {
  const logged: string[] = [];
  const controller = new AbortController();
  const settings: Issuer = {
    name: 'test',
    uri: url,
    contacts: [],
    acceptsTerms: false,
    verifies: true,
    ...issuer,
  };
  const log = { write: (level: string, text: string) => void logged.push(`${level} ${text}`) };
  const { signal } = controller;
  return {
    client: openAcmeClient({ issuer: settings, accountKey, log, signal }),
    accountKey,
    logged,
    controller,
  };
}

/** The identifier of a host. */
export const dns = (value: string): AcmeIdentifier => ({ type: 'dns', value });

/** An order to the end. `prove` does what a challenge asks for; a returned text is the chain. */
export async function issue(
  client: AcmeClient,
  identifiers: readonly AcmeIdentifier[],
  {
    type = 'http-01',
    key = newKey(),
    prove = () => undefined,
    ...rest
  }: {
    readonly type?: ChallengeType;
    readonly key?: KeyObject;
    readonly prove?: (token: string, name: string) => Promise<void> | void;
    readonly replaces?: string;
    readonly preferredChain?: string;
  } = {},
): Promise<{ readonly pem: string; readonly key: KeyObject; readonly orderUrl: string }> {
  const { preferredChain, ...order } = rest;
  const made = await client.newOrder({ identifiers, ...order });
  for (const url of made.authorizations) {
    const { status, identifier, challenges } = await client.authorization(url);
    const challenge = challenges.find((one) => one.type === type);
    if (status === 'valid' || !challenge) continue;
    await prove(challenge.token, identifier.value);
    await client.accept(challenge);
    await client.untilDecided({ url });
  }
  await client.finalize(await client.untilReady(made), await makeRequest(identifiers, key));
  const valid = await client.untilValid(made);
  return { pem: await client.download(valid, { preferredChain }), key, orderUrl: made.url };
}
