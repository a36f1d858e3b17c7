import type { Build, ConfigReport, ConfigSite, OwnLocation, ServerName } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import { type AuthJwtConfig, protectionOf } from './directives.ts';
import { issuersOf } from './location-issuers.ts';
import type { ProtectedResource } from './resource-directive.ts';

/** The word of `auth_jwt_audience` for the URL of the resource. */
export const RESOURCE = 'resource';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** A location with tools for language models is a resource, if its tokens have issuers: MCP demands it. */
export function settleResource(
  config: AuthJwtConfig,
  { toolsPath, serverNames }: ConfigSite,
  report: ConfigReport<AuthJwtConfig>,
): AuthJwtConfig {
  const { resource } = config;
  const hasIssuers = issuersOf(config).some(({ issuer }) => issuer !== undefined);
  if (toolsPath === undefined || !hasIssuers || resource === 'off' || resource?.url !== undefined)
    return config;
  if (!resource && !hasUsableName(serverNames))
    report.on(
      'issuerNames',
      'is for tools in a server without a name, so that tokens cannot name them',
      NAME_THEM,
    );
  return { ...config, resource: { ...resource, path: toolsPath, isTools: true } };
}

const NAME_THEM = 'add "server_name", or "auth_jwt_resource" with the URL of the tools, or off';

/** The location with the metadata of the resource. */
export function metadataLocations(config: AuthJwtConfig): readonly OwnLocation<AuthJwtConfig>[] {
  const { resource, protection: _, secret: _secret, nginzKeys: _keys, ...rest } = config;
  if (!protectionOf(config) || !resource || resource === 'off') return [];
  return [{ path: WELL_KNOWN + suffixOf(resource), config: { ...rest, metadataOf: resource } }];
}

/** The part of the path of the metadata that stands behind the well-known one (RFC 9728, 3.1). */
function suffixOf({ url, path }: ProtectedResource): string {
  if (url === undefined) return path;
  const { pathname } = new URL(url);
  return pathname === '/' ? '' : pathname;
}

/** The URLs of a resource for a request. */
interface ResourceUrls {
  readonly resource: string;
  readonly metadata: string;
}

/**
 * Compiles the URLs of the resource that a request belongs to: `undefined` for a request to another one, or if the
 * server has no name that the client may have meant.
 */
export function compileResource(
  resource: ProtectedResource,
  build: Build,
): (x: Exchange) => ResourceUrls | undefined {
  const { url } = resource;
  if (url !== undefined) {
    const urls = { resource: url, metadata: new URL(url).origin + WELL_KNOWN + suffixOf(resource) };
    return () => urls;
  }
  const originOf = compileOrigin(build);
  return (x) => {
    const origin = resource.isTools && x.uri !== resource.path ? undefined : originOf(x);
    if (origin === undefined) return undefined;
    return { resource: origin + resource.path, metadata: origin + WELL_KNOWN + resource.path };
  };
}

/** A host comes out of `server_name` only: whoever sends a request cannot choose for which resource a token was issued. */
function compileOrigin(build: Build): (x: Exchange) => string | undefined {
  const [scheme, host, port] = ['scheme', 'host', 'server_port'].map((name) => build.variable(name)) as [
    Getter,
    Getter,
    Getter,
  ];
  const names = build.serverNames;
  const first = names.find((name) => name.kind === 'exact' && HOST.test(name.name));
  return (x) => {
    const given = host(x) ?? '';
    const named = names.some((name) => isNamed(name, given)) ? given : first && nameOf(first);
    if (named === undefined) return undefined;
    const usual = scheme(x) === 'https' ? '443' : '80';
    const at = port(x) ?? usual;
    return `${scheme(x)}://${named}${at === usual ? '' : `:${at}`}`;
  };
}

type Getter = ReturnType<Build['variable']>;

function nameOf(name: ServerName): string | undefined {
  return name.kind === 'exact' ? name.name : undefined;
}

/** Names with regular expressions and open ends fit any host that a client likes. */
function isNamed(name: ServerName, host: string): boolean {
  if (name.kind === 'exact') return HOST.test(host) && name.name === host;
  return name.kind === 'leading wildcard' && host.endsWith(name.suffix) && HOST.test(host);
}

/** Not `_`, which stands for no name. */
const HOST = /^[a-z0-9.:[\]-]+$/;

/** True if a server has a name that a resource can have. */
export function hasUsableName(names: readonly ServerName[]): boolean {
  return names.some((name) =>
    name.kind === 'exact' ? HOST.test(name.name) : name.kind === 'leading wildcard',
  );
}

/** Compiles the response with the metadata of a resource (RFC 9728, 2). Any page may read it. */
export function compileMetadata(
  config: AuthJwtConfig & { readonly metadataOf: ProtectedResource },
  build: Build,
): Handler {
  const { metadataOf: resource, bound } = config;
  const issuers = issuersOf(config).flatMap(({ issuer }) => issuer ?? []);
  const scopes = resource.scopes ?? config.scopes;
  const members = {
    ...(issuers.length > 0 && { authorization_servers: issuers }),
    ...(scopes && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    ...(bound !== 'off' && { tls_client_certificate_bound_access_tokens: true }),
    ...(resource.documentation !== undefined && { resource_documentation: resource.documentation }),
  };
  const { isTools: _, ...whole } = resource;
  const urlsOf = compileResource(whole, build);
  return (x) => {
    const { method } = x.request;
    const urls = urlsOf(x);
    x.response.setHeader('Access-Control-Allow-Origin', '*');
    if (method === 'OPTIONS') {
      x.response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, OPTIONS');
      x.response.setHeader('Access-Control-Allow-Headers', '*');
      x.response.setHeader('Access-Control-Max-Age', '3600');
      return x.end(204);
    }
    if (method !== 'GET' && method !== 'HEAD') return x.end(405);
    if (!urls) return x.end(404);
    x.response.setHeader('Cache-Control', 'max-age=3600');
    return x.send(200, 'application/json', JSON.stringify({ resource: urls.resource, ...members }));
  };
}
