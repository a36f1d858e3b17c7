import type {
  AnyModule,
  GatewayView,
  LocationView,
  RouteResult,
  RouteQuery,
  ServerView,
} from '../contract/index.ts';
import { normalizePath } from '../http/index.ts';
import {
  addressText,
  type GatewayPlan,
  inOrder,
  type LocationPlan,
  locationText,
  type PortPlan,
  serverNameText,
  type ServerPlan,
} from '../plan/index.ts';
import type { Upstreams } from '../upstream/index.ts';
import { ServerNames } from './server-names.ts';
import type { ServerHandler } from './server.ts';

/** Returns the name of a server in metrics and views: its name, or its first address if it has none. */
export function serverLabel(server: ServerPlan, { servers, ports }: GatewayPlan): string {
  const port = ports.find((candidate) => candidate.servers.includes(servers.indexOf(server)));
  return server.name || (port ? addressText(port.address) : '');
}

/** Returns the directive that serves a location, for views of the configuration; `undefined` if there is none. */
function answeringDirective({ modules }: LocationPlan, all: readonly AnyModule[]): string | undefined {
  for (const module of all) {
    const config = modules[module.name] as Readonly<Record<string, unknown>> | undefined;
    const directive = config && (module.answers?.(config) ?? contentDirective(module, config));
    if (directive !== undefined) return directive;
  }
  return undefined;
}

function contentDirective(
  { content = [], directives }: AnyModule,
  config: Readonly<Record<string, unknown>>,
): string | undefined {
  const field = [content].flat().find((name) => config[name] !== undefined && config[name] !== false);
  return field && Object.keys(directives).find((name) => directives[name]?.into === field);
}

/** The inputs of a view besides the plan. */
interface ViewOptions {
  readonly modules: readonly AnyModule[];
  /** By index in the plan. */
  readonly servers: readonly ServerHandler[];
  readonly upstreams: Upstreams;
}

/** Returns the view of a plan and its compiled locations. */
export function makeView(plan: GatewayPlan, { modules, servers, upstreams }: ViewOptions): GatewayView {
  const known = new ServerNames(false);
  for (const name of plan.servers.flatMap(({ names }) => names))
    if (name.kind !== 'regex') known.add(name, true);
  let views: readonly ServerView[] | undefined;
  return {
    get servers() {
      return (views ??= serverViews(plan, modules));
    },
    get upstreams() {
      return upstreams.groups.map((group) => ({ name: group.name, peers: group.view() }));
    },
    zones: plan.zones,
    knowsHost: (host) => host !== '' && known.find(host).server,
    explain: (question) => explain(question, { plan, modules, servers, upstreams }),
  };
}

/** Returns the view of a plan's servers and locations. */
export function serverViews(plan: GatewayPlan, modules: readonly AnyModule[]): readonly ServerView[] {
  return plan.servers.map((server, index) => ({
    label: serverLabel(server, plan),
    names: server.names.map(serverNameText),
    listens: plan.ports
      .filter((port) => port.servers.includes(index))
      .map(({ address, defaultServer }) => ({
        address: addressText(address),
        isDefault: defaultServer === index,
      })),
    root: rootView(server, modules),
  }));
}

function rootView({ root, named }: ServerPlan, modules: readonly AnyModule[]): LocationView {
  return locationView({ ...root, locations: [...root.locations, ...named] }, modules);
}

function locationView(location: LocationPlan, modules: readonly AnyModule[]): LocationView {
  return {
    ...locationFacts(location, modules),
    locations: inOrder(location.locations).map((inner) => locationView(inner, modules)),
  };
}

function locationFacts(
  location: LocationPlan,
  modules: readonly AnyModule[],
): Omit<LocationView, 'locations'> {
  const { match, place, core } = location;
  const answeredBy = core.skipped ?? answeringDirective(location, modules);
  return {
    text: match ? locationText(match) : '',
    kind: match?.kind ?? 'server',
    place,
    internal: core.internal === true,
    ...(answeredBy !== undefined && { answeredBy }),
  };
}

interface RouteSources extends ViewOptions {
  readonly plan: GatewayPlan;
}

function explain(
  { port: number, host, path }: RouteQuery,
  { plan, modules, servers }: RouteSources,
): RouteResult {
  const port = plan.ports.find(({ address }) => address.kind === 'inet' && address.port === number);
  if (!port) return { refusal: `nothing listens on port ${number}` };
  const named = serverFor(port, host, plan);
  const index = named ?? port.defaultServer;
  const server = plan.servers[index] as ServerPlan;
  const handler = servers[index] as ServerHandler;
  const uri = normalizePath(path, (servers[port.defaultServer] as ServerHandler).mergeSlashes);
  if (uri === undefined) return { refusal: 'the path is malformed: the response is 400' };
  // If the server level has a content handler, its locations are never searched.
  const answersItself = answeringDirective(server.root, modules) !== undefined;
  const located = answersItself ? undefined : handler.locate(uri);
  return {
    address: addressText(port.address),
    server: serverLabel(server, plan),
    serverPlace: server.root.place,
    byDefault: named === undefined,
    uri,
    regexes: (located?.regexes ?? []).map(({ match }) => (match ? locationText(match) : '')),
    location: locationFacts(located?.location ?? server.root, modules),
  };
}

/** Returns the index of the server with a name. */
function serverFor(port: PortPlan, host: string, { servers }: GatewayPlan): number | undefined {
  const names = new ServerNames<number | undefined>(undefined);
  for (const index of port.servers) for (const name of servers[index]?.names ?? []) names.add(name, index);
  return names.find(host).server;
}
