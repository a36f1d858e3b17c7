import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Owner } from '../../harness/owner.ts';
import { startPeer, type TestPeer } from '../../harness/peer.ts';

export const CLIENT_ID = 'gateway';
export const CLIENT_SECRET = 'the secret of the gateway at its provider';

/** What a login at the provider leaves until its code is used. */
interface Grant {
  readonly nonce: string | null;
  readonly challenge: string | null;
  readonly redirectUri: string | null;
}

/** What serves a provider. */
interface Served extends Pick<TestPeer, 'requests' | 'die' | 'revive'> {
  readonly origin: string;
}

type Claims = Record<string, unknown>;

/** A provider that is strict with its clients, and misbehaves on demand. */
export class FakeProvider {
  readonly issuer: string;
  readonly asked: readonly string[];
  readonly die: () => Promise<void>;
  readonly revive: () => Promise<void>;
  /** Claims of the ID tokens beside those that OpenID Connect demands. */
  claims: Claims = { sub: 'ann', name: 'Ann', groups: ['a', 'b'], sid: 'sid-1' };
  /** Changes the claims of the next ID tokens. */
  alter: (claims: Claims) => Claims = (claims) => claims;
  /** Changes the token response. */
  respond: (tokens: Claims) => Claims = (tokens) => tokens;
  metadata: Claims = {};
  userinfo: Claims = { sub: 'ann', phone: '123' };
  expiresIn: number | undefined = undefined;
  givesRefreshTokens = false;
  /** Responds to refreshes instead of the provider. */
  refuseRefresh: ((response: ServerResponse) => void) | undefined = undefined;
  takesBasic = true;
  /** Codes may be used again, which no provider should allow. */
  keepsCodes = false;
  /** Token requests get no response. */
  delays = false;
  /** Signs the tokens; the key that the provider publishes is another one if this is replaced. */
  signer: KeyObject;
  /** The arguments of the last login. */
  lastLogin = new URLSearchParams();
  /** How the gateway identified itself last. */
  lastAuthentication = '';
  refreshes = 0;
  readonly #publicKey: KeyObject;
  readonly #codes = new Map<string, Grant>();
  readonly #refreshTokens = new Set<string>();
  #count = 0;

  constructor({ origin, requests, die, revive }: Served) {
    this.issuer = `${origin}/realm`;
    this.asked = requests;
    this.die = die;
    this.revive = revive;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.signer = privateKey;
    this.#publicKey = publicKey;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.issuer);
    const json = responder(response);
    switch (url.pathname) {
      case '/realm/.well-known/openid-configuration':
        return json(this.#document());
      case '/realm/jwks':
        return json({
          keys: [{ ...this.#publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig', alg: 'ES256' }],
        });
      case '/realm/authorize':
        return this.#authorize(url.searchParams, response);
      case '/realm/token':
        if (this.delays) return undefined;
        return this.#token(request.headers.authorization ?? '', await bodyOf(request), response);
      case '/realm/userinfo':
        return json(this.userinfo);
      default:
        return json({ error: 'not_found' }, 404);
    }
  }

  /** Makes a signed token. */
  sign(claims: Claims, header: Claims = {}): string {
    const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const signed = `${encode({ alg: 'ES256', kid: 'k1', typ: 'JWT', ...header })}.${encode(claims)}`;
    const key = { key: this.signer, dsaEncoding: 'ieee-p1363' } as const;
    return `${signed}.${signBytes('sha256', Buffer.from(signed), key).toString('base64url')}`;
  }

  /** Makes a logout token of these claims beside those that are demanded. */
  logoutToken(claims: Claims): string {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    this.#count += 1;
    const jti = `logout-${this.#count}`;
    return this.sign(
      { ...this.#times(), iss: this.issuer, aud: CLIENT_ID, jti, events, ...claims },
      { typ: 'logout+jwt' },
    );
  }

  #document(): Claims {
    const at = (path: string): string => `${this.issuer}/${path}`;
    return {
      issuer: this.issuer,
      authorization_endpoint: at('authorize'),
      token_endpoint: at('token'),
      jwks_uri: at('jwks'),
      userinfo_endpoint: at('userinfo'),
      end_session_endpoint: at('logout'),
      id_token_signing_alg_values_supported: ['ES256'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      ...this.metadata,
    };
  }

  #authorize(args: URLSearchParams, response: ServerResponse): void {
    this.lastLogin = args;
    this.#count += 1;
    const code = `code-${this.#count}`;
    const redirectUri = args.get('redirect_uri');
    this.#codes.set(code, { nonce: args.get('nonce'), challenge: args.get('code_challenge'), redirectUri });
    const back = new URL(redirectUri ?? '');
    for (const [name, value] of Object.entries({ code, state: args.get('state') ?? '', iss: this.issuer }))
      back.searchParams.set(name, value);
    response.writeHead(302, { Location: back.href }).end();
  }

  #token(authorization: string, args: URLSearchParams, response: ServerResponse): void {
    const json = responder(response);
    this.lastAuthentication = args.has('client_secret') ? 'post' : authorization.replace(/ .*/, '');
    const basic = Buffer.from(`${CLIENT_ID}:${encodeURIComponent(CLIENT_SECRET).replaceAll('%20', '+')}`);
    const isKnown = this.takesBasic
      ? authorization === `Basic ${basic.toString('base64')}`
      : args.get('client_secret') === CLIENT_SECRET;
    if (!isKnown) return json({ error: 'invalid_client' }, 401);
    if (args.get('grant_type') === 'refresh_token') {
      this.refreshes += 1;
      if (this.refuseRefresh) return this.refuseRefresh(response);
      if (!this.#refreshTokens.delete(args.get('refresh_token') ?? ''))
        return json({ error: 'invalid_grant' }, 400);
      return json(this.#tokens(undefined));
    }
    const grant = this.#codes.get(args.get('code') ?? '');
    if (!this.keepsCodes) this.#codes.delete(args.get('code') ?? '');
    const challenge = args.has('code_verifier')
      ? createHash('sha256')
          .update(args.get('code_verifier') ?? '')
          .digest('base64url')
      : null;
    if (!grant || grant.redirectUri !== args.get('redirect_uri') || grant.challenge !== challenge)
      return json({ error: 'invalid_grant' }, 400);
    return json(this.#tokens(grant.nonce));
  }

  #times(): Claims {
    const now = Math.floor(Date.now() / 1_000);
    return { iat: now, exp: now + 300 };
  }

  #tokens(nonce: string | null | undefined): Claims {
    this.#count += 1;
    const idToken = this.alter({
      ...this.#times(),
      iss: this.issuer,
      aud: CLIENT_ID,
      ...this.claims,
      ...(nonce !== undefined && nonce !== null && { nonce }),
    });
    const refreshToken = `refresh-${this.#count}`;
    if (this.givesRefreshTokens) this.#refreshTokens.add(refreshToken);
    return this.respond({
      token_type: 'Bearer',
      access_token: `access-${this.#count}`,
      id_token: this.sign(idToken),
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn }),
      ...(this.givesRefreshTokens && { refresh_token: refreshToken }),
    });
  }
}

const responder =
  (response: ServerResponse) =>
  (value: unknown, status = 200): void =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return new URLSearchParams(Buffer.concat(pieces).toString());
}

/** A key that the provider does not publish. */
export function foreignKey(): KeyObject {
  return createPrivateKey(
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' }),
  );
}

export async function startProvider(t: Owner): Promise<FakeProvider> {
  const peer = await startPeer(t, 'provider', (request, response) => void provider.serve(request, response));
  const provider = new FakeProvider({ ...peer, origin: `http://127.0.0.1:${peer.port}` });
  return provider;
}
