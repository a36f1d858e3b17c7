import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from 'oauth4webapi';
import { type KeysOrFault, namedUrlFault } from '../../issuer/index.ts';
import {
  type ClaimRules,
  claimsFault,
  isRefusal,
  TokenVerifier,
  type VerifiedToken,
} from '../../tokens/index.ts';
import type { Provider } from './provider.ts';
import { providerFetch } from './provider-fetch.ts';
import type { Session, SessionTokens } from './sessions.ts';

type OAuth = typeof import('oauth4webapi');

/** The metadata of a provider (OpenID Connect Discovery 1.0, 3). */
export type Metadata = AuthorizationServer;

/** What all workers know of a provider. */
export interface KnownProvider {
  metadata(): Readonly<Record<string, unknown>>;
  keys(): KeysOrFault;
  /** Waits for a fetch, if one is due: of `all` where something is missing, of `one` key that a token names. */
  ask(missing: 'all' | 'one'): Promise<unknown> | undefined;
}

/** Why a provider gave no tokens. The message has no part of a token. */
export class ProviderFault extends Error {
  /** `refused`: there will be no tokens. `foreign`: the client comes from another provider. `away`: another try may succeed. */
  readonly kind: 'refused' | 'foreign' | 'away';

  constructor(kind: ProviderFault['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** What a login has to be finished with. */
export interface PendingLogin {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier?: string | undefined;
}

/** Questions to a provider at once, of one worker; more are refused. */
const MOST_ASKING = 256;
/** By how much the clocks of the provider and the gateway may differ; oauth4webapi has the same. */
const LEEWAY_SECONDS = 30;
const MOST_TOKEN_BYTES = 65_536;

/** Asks a provider for tokens, and verifies what it gives (OpenID Connect Core 1.0, 3.1.3). */
export class ProviderClient {
  readonly #provider: Provider;
  readonly #known: KnownProvider;
  readonly #oauth: OAuth;
  readonly #client: Client;
  readonly #rules: ClaimRules;
  readonly #verifier = new TokenVerifier({ mostTokens: 1, mostBytes: MOST_TOKEN_BYTES });
  readonly #options: { readonly [key: symbol]: unknown };
  #asking = 0;

  constructor(
    provider: Provider,
    { known, oauth }: { readonly known: KnownProvider; readonly oauth: OAuth },
  ) {
    this.#provider = provider;
    this.#known = known;
    this.#oauth = oauth;
    this.#client = { client_id: provider.clientId };
    this.#options = {
      [oauth.customFetch]: providerFetch({ ca: provider.trusted?.text, crl: provider.crl?.text }),
      // Load time lets no URL without TLS pass that leaves this machine, and so does what reads the metadata.
      [oauth.allowInsecureRequests]: true,
    };
    this.#rules = {
      leewaySeconds: LEEWAY_SECONDS,
      checksIssue: true,
      audiences: [provider.clientId],
      needsAudience: true,
    };
  }

  /** Returns the metadata, after a fetch if there is none. Rejects with a `ProviderFault`. */
  async metadata(): Promise<Metadata> {
    let known = this.#known.metadata();
    if ('fault' in known) {
      await this.#known.ask('all');
      known = this.#known.metadata();
    }
    if ('fault' in known) throw new ProviderFault('away', String(known['fault']));
    const fault = metadataFault(known);
    if (fault !== undefined) throw new ProviderFault('away', fault);
    return known as Metadata;
  }

  /**
   * Fetches the tokens of a client that comes back with these checked arguments. Rejects with a `ProviderFault`.
   */
  async finishLogin(
    args: URLSearchParams,
    redirectUri: string,
    { nonce, verifier }: PendingLogin,
  ): Promise<SessionTokens> {
    const oauth = this.#oauth;
    const server = await this.metadata();
    return this.#guarded(async () => {
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        this.#client,
        this.#authentication(server),
        args,
        redirectUri,
        verifier ?? oauth.nopkce,
        this.#options,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(server, this.#client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      const idToken = await this.#verified(tokens.id_token ?? '');
      const userinfo = this.#provider.userinfo
        ? await this.#userinfo(server, { accessToken: tokens.access_token, idToken })
        : undefined;
      return tokensOf(tokens, { idToken, userinfo });
    });
  }

  /**
   * Checks `state` and `iss` of the arguments with which a client comes back (RFC 6749, 4.1.2; RFC 9207); `error` is what the
   * provider reports instead of a login. Throws a `ProviderFault`.
   */
  checkedArguments(
    server: Metadata,
    args: URLSearchParams,
    state: string,
  ): { readonly args: URLSearchParams } | { readonly error: string } {
    const oauth = this.#oauth;
    try {
      return { args: oauth.validateAuthResponse(server, this.#client, args, state) };
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError) return { error: codeText(error.error) };
      throw new ProviderFault('foreign', (error as Error).message, error);
    }
  }

  /** Fetches new tokens for a session (OpenID Connect Core 1.0, 12). Rejects with a `ProviderFault`. */
  async renew({ tokens: before, idToken: old }: Session): Promise<SessionTokens> {
    const oauth = this.#oauth;
    const server = await this.metadata();
    return this.#guarded(async () => {
      const response = await oauth.refreshTokenGrantRequest(
        server,
        this.#client,
        this.#authentication(server),
        before.refreshToken ?? '',
        this.#options,
      );
      const tokens = await oauth.processRefreshTokenResponse(server, this.#client, response);
      const idToken = tokens.id_token === undefined ? old : await this.#verified(tokens.id_token);
      if (idToken.claims.members['sub'] !== old.claims.members['sub'])
        throw new ProviderFault('refused', 'the new ID token is that of another client');
      const { refreshToken, userinfo, sid } = before;
      return { refreshToken, sid, ...withoutAbsent(tokensOf(tokens, { idToken, userinfo })) };
    });
  }

  /** Verifies the signature, the times and the audience of a token of the provider. Rejects with a `ProviderFault`. */
  async verify(text: string): Promise<VerifiedToken> {
    const token = await this.#signed(text);
    const { members } = token.claims;
    const refusal = claimsFault(token.claims, this.#rules, Date.now());
    if (refusal) throw new ProviderFault('refused', `the token is refused: ${refusal.refused}`);
    if (members['iss'] !== this.#provider.issuer)
      throw new ProviderFault('refused', 'the token is one of another issuer');
    return token;
  }

  async #verified(text: string): Promise<VerifiedToken> {
    const token = await this.verify(text);
    const { azp, exp, sub } = token.claims.members;
    if (exp === undefined || typeof sub !== 'string')
      throw new ProviderFault('refused', 'the ID token lacks "exp" or "sub"');
    if (azp !== undefined && azp !== this.#provider.clientId)
      throw new ProviderFault('refused', 'the ID token was given to another client');
    return token;
  }

  async #signed(text: string): Promise<VerifiedToken> {
    let keys = this.#known.keys();
    if ('fault' in keys) {
      await this.#known.ask('all');
      keys = this.#known.keys();
    }
    if ('fault' in keys) throw new ProviderFault('away', keys.fault);
    let token = this.#verifier.verify(text, keys);
    if (isRefusal(token) && token.refused === 'key' && token.subject !== undefined) {
      await this.#known.ask('one');
      const fetched = this.#known.keys();
      token = 'fault' in fetched ? token : this.#verifier.verify(text, fetched);
    }
    if (isRefusal(token)) throw new ProviderFault('refused', `the token is refused: ${token.refused}`);
    return token;
  }

  async #userinfo(
    server: Metadata,
    { accessToken, idToken }: { readonly accessToken: string; readonly idToken: VerifiedToken },
  ): Promise<string> {
    const oauth = this.#oauth;
    const response = await oauth.userInfoRequest(server, this.#client, accessToken, this.#options);
    const subject = String(idToken.claims.members['sub']);
    return JSON.stringify(await oauth.processUserInfoResponse(server, this.#client, subject, response));
  }

  /** As the provider takes it: `client_secret_basic` if it does not say, or lists it. */
  #authentication({ token_endpoint_auth_methods_supported: listed }: Metadata): ClientAuth {
    const { clientSecret } = this.#provider;
    if (clientSecret === undefined) return this.#oauth.None();
    const isBasic =
      !listed || listed.includes('client_secret_basic') || !listed.includes('client_secret_post');
    return isBasic ? this.#oauth.ClientSecretBasic(clientSecret) : this.#oauth.ClientSecretPost(clientSecret);
  }

  async #guarded<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#asking >= MOST_ASKING)
      throw new ProviderFault('away', 'too many questions to the provider at once');
    this.#asking += 1;
    try {
      return await ask();
    } catch (error) {
      throw this.#faultOf(error);
    } finally {
      this.#asking -= 1;
    }
  }

  /** Sorts the errors of oauth4webapi, whose causes have the bodies of responses. */
  #faultOf(error: unknown): ProviderFault {
    if (error instanceof ProviderFault) return error;
    const oauth = this.#oauth;
    if (error instanceof oauth.ResponseBodyError) {
      const { status } = error;
      const isAway = status >= 500 || status === 429 || AWAY.has(error.error);
      return new ProviderFault(
        isAway ? 'away' : 'refused',
        `the provider reports "${codeText(error.error)}"`,
      );
    }
    if (error instanceof oauth.WWWAuthenticateChallengeError)
      return new ProviderFault('refused', `the provider refuses with status ${error.status}`);
    const { message } = error as Error;
    const isFinal =
      error instanceof oauth.UnsupportedOperationError ||
      (error instanceof oauth.OperationProcessingError && FINAL.has(String(error.code)));
    return new ProviderFault(isFinal ? 'refused' : 'away', message);
  }
}

/** The URLs of a provider that get secrets or clients; they are `https`, or `http` on a loopback address as the issuer. */
const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'end_session_endpoint',
] as const;

/** Why nobody can log in with the metadata of a provider. */
export function metadataFault(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const wrong = ENDPOINTS.find((name) => {
    const url = metadata[name];
    if (url === undefined) return name === 'authorization_endpoint' || name === 'token_endpoint';
    return typeof url !== 'string' || namedUrlFault(url, String(metadata['issuer'])) !== undefined;
  });
  return wrong && `the metadata of the provider has no usable "${wrong}"`;
}

/** Codes of errors that no client can do anything about: of the provider, and of the configuration (RFC 6749, 5.2). */
const AWAY: ReadonlySet<string> = new Set([
  'invalid_client',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** oauth4webapi's codes for tokens that are wrong. */
const FINAL: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
]);

/** An error code as it may be logged. */
function codeText(code: string): string {
  return /^[\w.-]{1,64}$/.test(code) ? code : 'an unusual code';
}

function tokensOf(
  { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds }: TokenEndpointResponse,
  { idToken, userinfo }: { readonly idToken: VerifiedToken; readonly userinfo: string | undefined },
): SessionTokens {
  const { sid } = idToken.claims.members;
  const sinceMs = Date.now();
  // Tokens that end at once would be renewed for each request.
  const access = seconds ? { sinceMs, untilMs: sinceMs + seconds * 1_000 } : undefined;
  return {
    idToken: idToken.text,
    userinfo,
    sid: typeof sid === 'string' ? sid : undefined,
    accessToken,
    refreshToken,
    access,
  };
}

function withoutAbsent<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}
