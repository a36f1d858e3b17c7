import { type Fix, removed, type Report, type Span, type TextEdit } from '../../../grammar/index.ts';
import type { BoundField } from '../../config/index.ts';
import { configOf, type ServerName, type SslConfig } from '../../contract/index.ts';
import { coreOf, type PlannedServer } from '../level.ts';
import { addressText } from '../plan-text.ts';
import type { PortPlan } from '../plan.ts';

/** Warns if two servers of one port have the same name: the first one keeps it, as in nginx. */
export function checkServerNames(
  { address, servers }: Pick<PortPlan, 'address' | 'servers'>,
  all: readonly PlannedServer[],
  report: Report,
): void {
  const owners = new Map<string, NamedServer>();
  for (const index of servers) {
    const server = all[index] as PlannedServer;
    for (const name of server.plan.names) {
      const text = textOf(name);
      const owner = text === undefined ? undefined : owners.get(text);
      if (text === undefined) continue;
      if (!owner) owners.set(text, { server, name });
      else {
        const first = spanOf(owner);
        const message = `conflicting server name "${text}" on ${addressText(address)}, ignored`;
        report.warn(message, spanOf({ server, name }), {
          rule: 'duplicate-server-name',
          related: first && [{ span: first, label: 'this server keeps the name' }],
        });
      }
    }
  }
}

interface NamedServer {
  readonly server: PlannedServer;
  readonly name: ServerName;
}

/** Returns the span of the `server_name` with the name, or of the server if no directive has it. */
function spanOf({ server: { level, block }, name }: NamedServer): Span | undefined {
  const directive = coreOf(level).serverNames?.findIndex((names) => names.includes(name)) ?? -1;
  return level.get('core')?.from.get('serverNames')?.spans[directive] ?? block.node?.name.span;
}

function textOf(name: ServerName): string | undefined {
  if (name.kind === 'exact') return name.name;
  if (name.kind === 'leading wildcard') return `*${name.suffix}`;
  return name.kind === 'trailing wildcard' ? `${name.prefix}*` : undefined;
}

/** Warns of `ssl on`, which nginx has replaced by `listen ... ssl`. */
export function checkSslOn({ level, block }: PlannedServer, report: Report): void {
  const ssl = level.get('ssl');
  const enabled = ssl?.value['enabled'] === true ? ssl.from.get('enabled') : undefined;
  if (!enabled) return;
  const message = '"ssl" is deprecated, use the "listen ... ssl" directive instead';
  const isOwn = block.own.get('ssl')?.has('enabled') === true;
  const fix = isOwn ? inListens(enabled, { level, block }) : undefined;
  report.warn(message, enabled.spans[0], { rule: 'deprecated', fix });
}

function inListens(enabled: BoundField, { level }: Pick<PlannedServer, 'level' | 'block'>): Fix | undefined {
  const nodes = level.get('core')?.from.get('listens')?.nodes;
  const [directive] = enabled.nodes;
  if (!nodes || !directive) return undefined;
  const bare = nodes.filter((_, index) => coreOf(level).listens?.[index]?.ssl !== true);
  const edits = bare.flatMap(({ args }): TextEdit[] => {
    const last = args.at(-1);
    return last ? [{ span: { ...last.span, start: last.span.end }, text: ' ssl' }] : [];
  });
  return { title: 'say "listen ... ssl"', safe: true, edits: [...edits, removed(directive)] };
}

/**
 * Checks that the default server of a TLS port has a certificate, for clients without a server name (nginx
 * ngx_http_ssl_init).
 */
export function checkTlsPort(
  servers: readonly PlannedServer[],
  defaultServer: PlannedServer,
  report: Report,
): void {
  const { certificates, rejectHandshake } = configOf(defaultServer.level, 'ssl');
  if (certificates) return;
  const bare = rejectHandshake
    ? servers.find((server) => !canShakeHands(configOf(server.level, 'ssl')))
    : defaultServer;
  if (!bare) return;
  const place = bare.block.node?.name.span;
  report.emerg('no "ssl_certificate" is defined for the "listen ... ssl" directive', place);
}

function canShakeHands({ certificates, rejectHandshake }: SslConfig): boolean {
  return certificates !== undefined || rejectHandshake;
}
