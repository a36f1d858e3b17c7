import { expect, test } from 'vitest';
import { ProviderFault } from '../../../src/modules/auth_oidc/provider-client.ts';
import { Refresher } from '../../../src/modules/auth_oidc/refresher.ts';
import { type Session, Sessions, type SessionTokens } from '../../../src/modules/auth_oidc/sessions.ts';
import { createZone, type Dictionary, openDictionary } from '../../../src/zone/index.ts';

const ISSUER = 'https://idp.example';
const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
const ID_TOKEN = `${encode({ alg: 'ES256' })}.${encode({ iss: ISSUER, sub: 'ann' })}.signature`;

/** Tokens that are due for a refresh. */
function tokensOf(accessToken: string): SessionTokens {
  const now = Date.now();
  const access = { sinceMs: now - 300_000, untilMs: now + 10_000 };
  return { idToken: ID_TOKEN, accessToken, refreshToken: `${accessToken}-refresh`, access, sid: 'sid-1' };
}

function openStore(): { readonly dictionary: Dictionary; readonly sessions: Sessions } {
  const zone = createZone({ name: 's', kind: 'dictionary', sizeBytes: 65_536 });
  const dictionary = openDictionary(zone, 1);
  const provider = { name: 'idp', issuer: ISSUER, clientId: 'gateway', sessionTimeoutMs: 60_000 };
  return { dictionary, sessions: new Sessions({ dictionary, provider }) };
}

test('who reads the store finds neither ids nor tokens', () => {
  const { dictionary, sessions } = openStore();
  const id = sessions.add(tokensOf('access-1'));
  const content = JSON.stringify(dictionary.scan(0).entries);
  expect(content).toMatch(/idp:[\w-]{8} session /);
  for (const secret of [id, 'access-', 'eyJ', 'ann', 'sid-1']) expect(content).not.toContain(secret);
});

test('a secret of the store that somebody has replaced seals nothing', () => {
  const { dictionary, sessions } = openStore();
  expect(sessions.secret()).toMatch(/^[\w-]{43}$/);
  const [{ key } = { key: '' }] = dictionary.scan(0).entries;
  dictionary.set(key, 1);
  expect(() => sessions.secret()).toThrow('their secret was replaced');
});

/** Refreshes a session; `meanwhile` happens while the provider is asked, which then refuses. */
async function refreshRefused(
  isShared: boolean,
  meanwhile: (sessions: Sessions, id: string) => void,
): Promise<{
  readonly session: Session | string | undefined;
  readonly told: number;
  readonly left: boolean;
}> {
  const { sessions } = openStore();
  const id = sessions.add(tokensOf('old'));
  let told = 0;
  const client = {
    async renew(): Promise<SessionTokens> {
      meanwhile(sessions, id);
      throw new ProviderFault('refused', 'the provider reports "invalid_grant"');
    },
  };
  const refresher = new Refresher({ client, sessions, isShared, renews: true, tell: () => (told += 1) });
  const session = await refresher.refreshed(sessions.find(id) as Session);
  return { session, told, left: sessions.find(id) !== undefined };
}

test('a session that another gateway has renewed meanwhile goes on with its tokens', async () => {
  const { session, told, left } = await refreshRefused(false, (sessions, id) =>
    sessions.replace(id, tokensOf('new')),
  );
  expect([session, told, left]).toEqual([
    expect.objectContaining({ tokens: expect.objectContaining({ accessToken: 'new' }) as unknown }),
    0,
    true,
  ]);
});

test('in a cluster the new tokens of another gateway are waited for', async () => {
  const { session, told, left } = await refreshRefused(
    true,
    (sessions, id) => void setImmediate(() => sessions.replace(id, tokensOf('new'))),
  );
  expect(session).toMatchObject({ tokens: { accessToken: 'new' } });
  expect([told, left]).toEqual([0, true]);
});

test('a session that the provider refuses, and nobody has renewed, ends', async () => {
  for (const isShared of [false, true])
    expect(await refreshRefused(isShared, () => undefined)).toEqual({
      session: undefined,
      told: 1,
      left: false,
    });
});
