import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { commandName } from '../src/master/index.ts';
import type { ConfigSource } from '../src/pipeline.ts';
import { commandWords } from './invocation.ts';
import { DEFAULT_NAMES, DEMO_DATA, hasOwnConfig, NGINX_CONF, type Options, sourceOf } from './options.ts';
import { hasDemoData, isDemoFile, isOfDemo, nearPath, runningSource } from './running-demo.ts';

/** The options that say where the configuration of a command is. */
type ConfigOptions = {
  readonly [K in 'confFile' | 'prefix' | 'globals' | 'errorLog' | 'compat']?: Options[K] | undefined;
};

/** What a command asks of the gateway that it looks for. */
export type Wanted = 'signal' | 'response';

/**
 * Returns the configuration of a command: the named one, that of this directory, that of the demo that was started here, or
 * the default one of this machine. The demo's own file is that of the demo that runs, with its port.
 */
export function chosenSource(options: ConfigOptions): ConfigSource {
  const { confFile, prefix, globals, errorLog, compat } = options;
  const source = sourceOf(options);
  const mayBeDemo = confFile === undefined ? !hasOwnConfig(prefix ?? '.') : isDemoFile(source.confFile);
  const demo = mayBeDemo ? runningSource(prefix) : undefined;
  return demo
    ? { ...demo, ...(confFile !== undefined && { name: confFile }), globals, errorLog, compat }
    : source;
}

/** Says which file a command takes that names none, and why, where it is not one of this directory. */
export function tellChoice(source: ConfigSource, named: string | undefined): void {
  const { prefix, confFile } = source;
  if (named !== undefined || hasOwnConfig(prefix) || !existsSync(confFile) || isNginx()) return;
  const why = isOfDemo(source)
    ? `a demo runs on ${nearPath(prefix)}`
    : `there is no ${missingBefore(confFile)}`;
  process.stderr.write(`gw: using the configuration file ${confFile}: ${why}\n`);
}

/** The default files that would be taken before this one. */
function missingBefore(file: string): string {
  return listed(DEFAULT_NAMES.slice(0, DEFAULT_NAMES.indexOf(file)), 'or');
}

function listed(names: readonly string[], word: string): string {
  return `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}

/** A program that is called `nginx` stands in the place of nginx, and so means its file. */
function isNginx(): boolean {
  return commandName(process.argv[1] ?? '') === 'nginx';
}

/**
 * Returns why a command for a running gateway must not take a configuration: nothing is named, and what is left is the
 * file of nginx, which may run by it, or none. `undefined` if it may.
 */
export function refusalOf(
  source: ConfigSource,
  named: string | undefined,
  wanted: Wanted,
): string | undefined {
  const isNginxFile = source.confFile === NGINX_CONF;
  if (named !== undefined || isNginx() || (!isNginxFile && existsSync(source.confFile))) return undefined;
  const others =
    wanted === 'signal' ? '-c FILE names its configuration' : '-c FILE or --address URL names one';
  const data = [source.prefix, resolve(source.prefix, DEMO_DATA)].find(hasDemoData);
  if (data !== undefined)
    return `no gateway runs here: the demo of ${nearPath(data)} has ended\n  "${commandWords()} demo" starts one; ${others}`;
  if (isNginxFile && wanted === 'signal')
    return `no signal is sent: the configuration would be ${NGINX_CONF}, by which nginx may run\n  -c ${NGINX_CONF} takes it all the same`;
  return `no gateway is known here: there is no ${listed(DEFAULT_NAMES.slice(0, -1), 'or')}\n  ${others}`;
}

/** Returns what to do where a command finds no configuration; '' if there is one, or one was named. */
export function adviceWithout({ prefix, confFile }: ConfigSource, named: string | undefined): string {
  if (named !== undefined || existsSync(confFile)) return '';
  const gw = commandWords();
  return `  searched in ${prefix}: ${listed(DEFAULT_NAMES, 'and')}
  "${gw} -c FILE" names another file, "${gw} example rest > gateway.conf" writes one to start from, "${gw} demo" shows what there is
`;
}
