import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { ConfigSource } from '../src/pipeline.ts';
import type { Options } from './options.ts';

/** Where the options say that the configuration is; relative files start from the prefix, as in nginx. */
export function sourceOf({ confFile, prefix = '.', globals, errorLog }: Options): ConfigSource {
  const directory = resolve(prefix);
  const name = confFile ?? defaultName(directory);
  return { prefix: directory, confFile: resolve(directory, name), name, globals, errorLog };
}

/** The last ones are where a service without options has its configuration: its own, or that of the nginx it takes over. */
const DEFAULT_NAMES = ['gateway.conf', 'conf/gateway.conf', '/etc/gw/gateway.conf', '/etc/nginx/nginx.conf'];

function defaultName(prefix: string): string {
  return DEFAULT_NAMES.find((name) => existsSync(resolve(prefix, name))) ?? 'gateway.conf';
}
