import { Argument, type Command, Option } from 'commander';
import type { Finish } from '../command-definition.ts';
import type { ProbeOptions } from './control-client.ts';
import type { CacheOptions, PurgeOptions } from './caches.ts';
import type { ClusterOptions } from './cluster.ts';
import type { PublishOptions, TailOptions } from './events.ts';
import type { FlagOptions, FlagSetOptions } from './flags.ts';
import type { StatusOptions } from './status.ts';
import type { TopOptions } from './top/top.ts';
import type { UpgradeOptions } from './upgrade.ts';
import type { AddOptions, UpstreamOptions } from './upstreams.ts';

const ENDPOINTS = {
  live: 'ask the running gateway whether it is alive',
  ready: 'ask the running gateway whether it is ready for requests',
};

const SURFACE = 'its control surface, such as http://127.0.0.1:9001/runtime/';
const GROUP = 'the API of a group, such as http://127.0.0.1:8081/upstreams/app';
const PURGE = 'the API that purges, such as http://127.0.0.1:8081/purge';
const EVENTS = 'its events endpoint, such as http://127.0.0.1:8080/events';

/** Adds the options of commands for a running gateway. */
function running(command: Command, address: string = SURFACE): Command {
  return command
    .option('-c, --config <file>', 'configuration of the gateway, which says where it listens')
    .option(
      '-p, --prefix <directory>',
      'directory that relative paths start from; that of the data of gw demo --data',
    )
    .option('--address <url>', address);
}

/** Adds the commands for a running gateway. */
export function addRunning(gw: Command, finish: Finish): void {
  for (const endpoint of ['live', 'ready'] as const) {
    running(gw.command(endpoint))
      .description(ENDPOINTS[endpoint])
      .option('-q, --quiet', 'print nothing if all is well')
      .action(async (options: ProbeOptions) => {
        finish(await (await import('./control-client.ts')).probe(endpoint, options));
      });
  }
  addViews(gw, finish);
  gw.command('upgrade')
    .description('replace the program of the running gateway by the installed one, without losing a request')
    .option('-c, --config <file>', 'configuration of the gateway, which names its pid file')
    .option('-p, --prefix <directory>', 'directory that relative paths start from')
    .option('--or-reload', 'only reload if the installed version is the one that runs')
    .action(async (options: UpgradeOptions) => {
      finish(await (await import('./upgrade.ts')).upgrade(options));
    });
  addFlags(gw.command('flag').description('feature flags of the running gateway'), finish);
  addUpstreams(gw.command('upstream').description('groups of servers of the running gateway'), finish);
  addCaches(gw.command('cache').description('stored responses of the running gateway'), finish);
  running(gw.command('cluster').description('clusters of the running gateway').command('status'))
    .description('show the nodes, how far streams are read, and what is missing')
    .option('--json', 'as JSON, for programs')
    .action(async (options: ClusterOptions) => {
      finish(await (await import('./cluster.ts')).clusterStatus(options));
    });
  addEvents(gw.command('events').description('events of the running gateway'), finish);
}

/** Adds the commands that show the gateway as a whole. */
function addViews(gw: Command, finish: Finish): void {
  running(gw.command('status'))
    .description('show what the running gateway does')
    .option('--json', 'as JSON, for programs')
    .option('--watch', 'show it again every two seconds')
    .action(async (options: StatusOptions) => {
      finish(await (await import('./status.ts')).status(options));
    });
  running(gw.command('top'))
    .description(
      'watch what the running gateway does: requests, latencies, workers, stores, upstreams, caches',
    )
    .option('--once', 'print it once; so it is where the output is not a terminal')
    .option('--json', 'once, as JSON, for programs')
    .action(async (options: TopOptions) => {
      finish(await (await import('./top/top.ts')).top(options));
    });
}

function addFlags(flag: Command, finish: Finish): void {
  const withDictionary = (command: Command): Command =>
    running(command)
      .option('--dict <name>', 'a dictionary other than that of the control surface')
      .option('--json', 'as JSON, for programs');
  withDictionary(flag.command('list'))
    .description('show all flags')
    .action(async (options: FlagOptions) => {
      finish(await (await import('./flags.ts')).listFlags(options));
    });
  withDictionary(flag.command('set <name>'))
    .addArgument(new Argument('[state]').choices(['on', 'off']).default('on'))
    .description('set a flag')
    .option('--rollout <percent>', 'on for this part of the keys (default: 100)')
    .option('--ttl <time>', 'time until it expires, such as 30s or 7d; 0: never (default: 1h)')
    .action(async (name: string, state: string, options: FlagSetOptions) => {
      finish(await (await import('./flags.ts')).setFlag(name, state, options));
    });
  withDictionary(flag.command('unset <name>'))
    .description('remove a flag')
    .action(async (name: string, options: FlagOptions) => {
      finish(await (await import('./flags.ts')).unsetFlag(name, options));
    });
}

function addEvents(events: Command, finish: Finish): void {
  addReading(running(events.command('list'), EVENTS))
    .description('show the newest events that the gateway still has')
    .option('--since <generation>', 'those after this generation (default: the last 20)')
    .action(async (options: TailOptions) => {
      finish(await (await import('./events.ts')).listEvents(options));
    });
  addReading(running(events.command('tail'), EVENTS))
    .description('show events as they are published')
    .option('--since <generation>', 'begin after this generation instead of with the next event')
    .action(async (options: TailOptions) => {
      finish(await (await import('./events.ts')).tail(options));
    });
  running(events.command('publish <type> [payload]'), EVENTS)
    .description('publish an event')
    .option('--key <secret>', 'the publish key, if the configuration does not contain it')
    .option('--json', 'as JSON, for programs')
    .action(async (type: string, payload: string | undefined, options: PublishOptions) => {
      finish(await (await import('./events.ts')).publish(type, payload, options));
    });
}

function addReading(command: Command): Command {
  return command
    .option('--channel <name>', "a channel other than the endpoint's; '' for all")
    .option('--type <name>', 'only events of this type')
    .option('--json', 'as JSON, one event per line');
}

function addCaches(cache: Command, finish: Finish): void {
  running(cache.command('status [zone]'))
    .description('show what the caches hold, and how often they serve a request')
    .option('--json', 'as JSON, for programs')
    .action(async (zone: string | undefined, options: CacheOptions) => {
      finish(await (await import('./caches.ts')).cacheStatus(zone, options));
    });
  running(cache.command('purge <zone> <targets...>'), PURGE)
    .description('remove stored responses')
    .addOption(
      new Option('--match <how>', 'what the targets are: keys, beginnings of keys, or tags')
        .choices(['exact', 'prefix', 'tag'])
        .default('exact'),
    )
    .option('--json', 'as JSON, for programs')
    .action(async (zone: string, targets: readonly string[], options: PurgeOptions) => {
      finish(await (await import('./caches.ts')).purgeCache(zone, targets, options));
    });
}

function addUpstreams(upstream: Command, finish: Finish): void {
  const command = (syntax: string): Command =>
    running(upstream.command(syntax), GROUP).option('--json', 'as JSON, for programs');
  command('list [name]')
    .description('show the peers of managed groups')
    .action(async (name: string | undefined, options: UpstreamOptions) => {
      finish(await (await import('./upstreams.ts')).listPeers(name, options));
    });
  command('add <name> <address>')
    .description('add a peer to a group')
    .option('--weight <number>', 'its weight (default: 1)')
    .option('--backup', 'use it only when no other peer can serve')
    .option('--slow-start <time>', 'time in which its share grows after a failure')
    .action(async (name: string, address: string, options: AddOptions) => {
      finish(await (await import('./upstreams.ts')).addPeer(name, address, options));
    });
  command('remove <name> <address>')
    .description('remove a peer from a group')
    .action(async (name: string, address: string, options: UpstreamOptions) => {
      finish(await (await import('./upstreams.ts')).removePeer(name, address, options));
    });
  for (const verb of ['drain', 'undrain'] as const) {
    command(`${verb} <name> <address>`)
      .description(verb === 'drain' ? 'let a peer end what is bound to it' : 'give a peer requests again')
      .action(async (name: string, address: string, options: UpstreamOptions) => {
        finish(await (await import('./upstreams.ts')).drainPeer(verb, [name, address], options));
      });
  }
  command('weight <name> <address> <number>')
    .description('change the weight of a peer')
    .action(async (...given: readonly [string, string, string, UpstreamOptions]) => {
      const [name, address, number, options] = given;
      finish(await (await import('./upstreams.ts')).weighPeer([name, address, number], options));
    });
}
