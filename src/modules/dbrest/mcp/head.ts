import { type Exchange, isOwnName, type KnowsHost } from '../../../http/index.ts';
import type { CorsOrigins } from '../directives/index.ts';
import { foreignOrigin, notOfTools, wrongToolHeader } from '../fault/index.ts';

/** Revisions of the protocol, the newest first. What differs between them does not concern tools without sessions. */
export const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

interface HeadRules {
  readonly corsOrigins: CorsOrigins;
  readonly knowsHost: KnowsHost;
}

/**
 * Checks the head of a message (Model Context Protocol, "Streamable HTTP"). Throws DBREST130 to DBREST132. Streams and
 * sessions, for which GET and DELETE are, do not exist here.
 */
export function checkHead(x: Exchange, rules: HeadRules): void {
  checkOrigin(x, rules);
  if (x.method !== 'POST') throw notOfTools(x.method);
  const accept = x.header('accept');
  if (accept !== undefined && !/(?:^|[,\s])(?:application\/(?:json|\*)|\*\/\*)/i.test(accept))
    throw wrongToolHeader('Messages are sent as application/json, which "Accept" does not allow', 406);
  if (!/^application\/json\s*(?:;|$)/i.test(x.header('content-type') ?? ''))
    throw wrongToolHeader('A message has the Content-Type application/json', 415);
  const version = x.header('mcp-protocol-version');
  if (version !== undefined && !VERSIONS.some((known) => known === version))
    throw wrongToolHeader(`"MCP-Protocol-Version" is one of ${VERSIONS.join(', ')}`);
}

/**
 * A page may use the tools only from an origin that is listed by name: `*` allows every page to read rows, but a page of a name
 * that was rebound to this address would have the rights of the network that its reader is in.
 */
function checkOrigin(x: Exchange, { corsOrigins, knowsHost }: HeadRules): void {
  const origin = x.header('origin')?.toLowerCase();
  if (origin === undefined || (corsOrigins !== '*' && corsOrigins.includes(origin))) return;
  const own = `${x.request.port.scheme}://${(x.header('host') ?? '').toLowerCase()}`;
  if (origin === own && isOwnName(x.request.host, knowsHost)) return;
  throw foreignOrigin('Pages of this origin may not use the tools of the database');
}
