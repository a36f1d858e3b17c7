import { ServerNames } from '../compile/index.ts';
import type { ServerName } from '../contract/index.ts';
import { addressText, serverNameText } from '../plan/index.ts';
import type { GatewayPlan, PortPlan, ServerPlan } from '../plan/index.ts';
import type { Account, Candidate } from './account.ts';
import type { Places } from './places.ts';
import { listenPlace } from './port.ts';
import { placeText } from './words.ts';

const RANKS: readonly ServerName['kind'][] = ['exact', 'leading wildcard', 'trailing wildcard', 'regex'];

const KINDS: Readonly<Record<ServerName['kind'], string>> = {
  exact: 'an exact name',
  'leading wildcard': 'a wildcard in front',
  'trailing wildcard': 'a wildcard at the end',
  regex: 'a regular expression',
};

interface Choosing {
  readonly plan: GatewayPlan;
  readonly places: Places;
  readonly port: PortPlan;
  readonly host: string;
}

/** Why a request came to `server`, and the others of its port did not get it. */
export function serverAccount(server: ServerPlan, choosing: Choosing): NonNullable<Account['server']> {
  const { plan, port, host } = choosing;
  const fitting = nameFor(server, host);
  const servers = port.servers.map((index) => plan.servers[index]).filter((each) => each !== undefined);
  return {
    name: server.names
      .map(serverNameText)
      .filter((name) => name !== '')
      .join(' '),
    place: server.root.place,
    why: whyChosen(server, fitting, choosing),
    others: servers
      .filter((each) => each !== server)
      .map((each) => losing(each, { ...choosing, winner: fitting })),
  };
}

function whyChosen(server: ServerPlan, name: ServerName | undefined, choosing: Choosing): string {
  const { port, host, plan } = choosing;
  if (name && !(port.servers.length === 1 && host === ''))
    return `"${serverNameText(name)}" is ${KINDS[name.kind]} that fits "${host}" (${namePlace(server, name, choosing)})`;
  if (port.servers.length === 1) return 'the only server of this port answers whatever name is asked for';
  const isSaid = (
    choosing.places.server(server)?.from('core').get('listens')?.value as
      readonly { readonly defaultServer: boolean; readonly address: PortPlan['address'] }[] | undefined
  )?.some((listen) => listen.defaultServer && addressText(listen.address) === addressText(port.address));
  const place = listenPlace(port, port.defaultServer, { plan, places: choosing.places });
  const why = isSaid === true ? `"default_server" (${place})` : 'the first server of this port';
  return `no name fits "${host}": ${why}`;
}

/** The name of a server that a host is found by, as the compiled names find it. */
function nameFor({ names }: ServerPlan, host: string): ServerName | undefined {
  const known = new ServerNames<ServerName | undefined>(undefined);
  for (const name of names) known.add(name, name);
  return known.find(host).server;
}

function losing(
  server: ServerPlan,
  { host, winner, ...choosing }: Choosing & { readonly winner: ServerName | undefined },
): Candidate {
  const own = nameFor(server, host);
  const names = server.names.map(serverNameText).filter((name) => name !== '');
  return {
    text: names.join(' ') || '(no name)',
    place: own ? namePlace(server, own, choosing) : server.root.place,
    chosen: false,
    why: whyLost(own, winner, host),
  };
}

function whyLost(own: ServerName | undefined, winner: ServerName | undefined, host: string): string {
  if (!own || !winner) return host === '' ? 'the request names no host' : `does not fit "${host}"`;
  const [mine, theirs] = [RANKS.indexOf(own.kind), RANKS.indexOf(winner.kind)];
  if (mine > theirs) return `${KINDS[winner.kind]} goes before ${KINDS[own.kind]}`;
  if (own.kind === 'exact' || own.kind === 'regex')
    return 'an earlier server has that name or a regex that matches';
  return 'a longer wildcard, or an earlier one, goes first';
}

function namePlace(server: ServerPlan, name: ServerName, { places }: Pick<Choosing, 'places'>): string {
  const field = places.server(server)?.from('core').get('serverNames');
  const nth = ((field?.value ?? []) as readonly (readonly ServerName[])[]).findIndex((names) =>
    names.some((each) => serverNameText(each) === serverNameText(name)),
  );
  return placeText(field?.nodes[nth]?.name.span) || server.root.place;
}
