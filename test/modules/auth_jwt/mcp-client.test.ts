import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Provider } from 'oidc-provider';
import { expect, test, vi } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import type { Owner } from '../../harness/owner.ts';
import { freePort } from '../../harness/ports.ts';
import { postgres } from '../../harness/postgres.ts';
import { Visitor } from '../auth_oidc/visitor.ts';
import { WHOAMI } from '../dbrest/token-location.ts';

// The provider says that its pages and keys are those of a test.
for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined);

/** Starts node-oidc-provider, where clients register themselves and ask for tokens of a resource. */
async function startProvider(t: Owner): Promise<string> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const server = createServer(respond(issuer)).listen(port, '127.0.0.1');
  await once(server, 'listening');
  t.onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  return issuer;
}

function respond(issuer: string): RequestListener {
  const resources = {
    enabled: true,
    getResourceServerInfo: (_context: unknown, resource: string) => ({
      scope: 'read',
      audience: resource,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'RS256' } },
    }),
    useGrantedResource: () => true,
  };
  return new Provider(issuer, {
    features: { registration: { enabled: true }, resourceIndicators: resources },
    scopes: ['openid', 'offline_access', 'read'],
    extraTokenClaims: () => ({ role: 'web_user' }),
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: { AccessToken: 60, IdToken: 60, Session: 600, Grant: 600, Interaction: 600 },
    cookies: { keys: ['a key for cookies'] },
  }).callback();
}

/** What a client of MCP keeps of its login. */
class ClientStore implements OAuthClientProvider {
  asked: URL | undefined;
  readonly redirectUrl: string;
  #client: ReturnType<OAuthClientProvider['clientInformation']>;
  #tokens: ReturnType<OAuthClientProvider['tokens']>;
  #verifier = '';

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
  }

  get clientMetadata(): OAuthClientProvider['clientMetadata'] {
    return {
      redirect_uris: [this.redirectUrl],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
    };
  }

  clientInformation(): ReturnType<OAuthClientProvider['clientInformation']> {
    return this.#client;
  }

  saveClientInformation(client: Awaited<ReturnType<OAuthClientProvider['clientInformation']>>): void {
    this.#client = client;
  }

  tokens(): ReturnType<OAuthClientProvider['tokens']> {
    return this.#tokens;
  }

  saveTokens(tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.asked = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

/** Logs in as a person would, at the page that the client opens. Resolves with the code that comes back. */
async function logIn({ asked }: ClientStore): Promise<string> {
  const visitor = new Visitor();
  const consenting = await visitor.submit(await visitor.follow(String(asked)), {
    login: 'ann',
    password: 'x',
  });
  const back = await visitor.submit(consenting);
  expect(back.body).toBe('done');
  return new URL(back.urls.at(-1) as string).searchParams.get('code') as string;
}

test('a client of MCP that has only the address logs in and uses the tools', async (t) => {
  const [issuer, db] = [await startProvider(t), await postgres(WHOAMI)];
  const gw = await startGateway(
    t,
    `token_issuer provider { issuer ${issuer}; }
     server { server_name 127.0.0.1;
       location /rest/ { auth_jwt shop; auth_jwt_issuer provider; auth_jwt_resource on scopes=read;
         auth_jwt_scope read; dbrest_pass ${db.dsn}; dbrest_mcp on; }
       location /done { return 200 done; } }`,
    { fresh: true },
  );
  const tools = new URL(`${gw.url}/rest/mcp`);
  const store = new ClientStore(`${gw.url}/done`);
  const transport = () => new StreamableHTTPClientTransport(tools, { authProvider: store });
  const first = transport();
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow('Unauthorized');
  expect(store.asked?.origin).toBe(issuer);
  expect(store.asked?.searchParams.get('resource')).toBe(tools.href);

  const code = await logIn(store);
  await first.finishAuth(code);

  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport());
  const read = await client.callTool({ name: 'read_rows', arguments: { table: 'whoami' } });
  expect(JSON.stringify(read.structuredContent)).toContain('"role":"web_user"');
  await client.close();
  // The token is for the tools, and for nothing else that has this issuer.
  const { access_token: token = '' } = (await store.tokens()) ?? {};
  const [, payload = ''] = token.split('.');
  expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
    aud: tools.href,
    iss: issuer,
  });
});
