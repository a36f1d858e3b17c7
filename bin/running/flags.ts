import { nearest, readers } from '../../src/config/index.ts';
import { flagsRead } from '../../src/tools/lookups.ts';
import { columns, visible } from '../terminal.ts';
import { callControl, type ControlOptions, fail, findControl, loadPlan } from './control-client.ts';

const MAX_PERCENT = 100;

/** Options of all `gw flag` commands. */
export interface FlagOptions extends ControlOptions {
  readonly dict?: string;
  readonly json?: boolean;
}

/** Options of `gw flag set`. */
export interface FlagSetOptions extends FlagOptions {
  readonly rollout?: string;
  readonly ttl?: string;
}

/** A flag in a response of the control surface. */
interface Flag {
  readonly name: string;
  readonly enabled: string;
  readonly rollout_pct: string;
  readonly ttl_s: string;
}

/** `gw flag list`: prints the flags. Exit code 1: there is no response, or not one with flags. */
export function listFlags({ json, dict, ...options }: FlagOptions): Promise<number> {
  return ask<readonly Flag[]>({ endpoint: 'flags', query: { dict }, options }, (flags) => {
    if (json) return `${JSON.stringify(flags)}\n`;
    if (flags.length === 0) return 'no flags\n';
    return columns([
      ['FLAG', 'STATE', 'ROLLOUT', 'EXPIRES'],
      ...flags.map((flag) => [visible(flag.name), stateOf(flag), `${flag.rollout_pct} %`, expiryOf(flag)]),
    ]);
  });
}

/** `gw flag set NAME [on|off]`: sets a flag. Exit code 1: it was not set; 2: an option is wrong. */
export async function setFlag(name: string, state: string, options: FlagSetOptions): Promise<number> {
  const { json, dict, rollout, ttl, ...where } = options;
  const ttlMs = ttl === undefined ? undefined : readers.parseTimeMs(ttl);
  if (ttl !== undefined && ttlMs === undefined) {
    process.stderr.write(
      `gw: invalid time "${ttl}"\n  expected a time such as 30s, 1h or 7d, or 0 for ever\n`,
    );
    return 2;
  }
  if (rollout !== undefined && !(/^\d{1,3}$/.test(rollout) && Number(rollout) <= MAX_PERCENT)) {
    process.stderr.write(`gw: invalid value "${visible(rollout)}" of "--rollout"\n  expected 0 to 100\n`);
    return 2;
  }
  const query = {
    name,
    enabled: state,
    rollout_pct: rollout,
    ttl_s: ttlMs === undefined ? undefined : String(Math.ceil(ttlMs / 1000)),
    dict,
  };
  const code = await ask<Flag>({ endpoint: 'flag_set', query, options: where }, (flag) =>
    json
      ? `${JSON.stringify(flag)}\n`
      : `${visible(flag.name)} is ${stateOf(flag)}, rollout ${flag.rollout_pct} %, expires ${expiryOf(flag)}\n`,
  );
  if (code === 0 && where.address === undefined) tellUnread(name, where);
  return code;
}

/** Tells that the flag decides nothing, which may be a name that is misspelt. */
function tellUnread(name: string, options: ControlOptions): void {
  const loaded = loadPlan(options);
  if (typeof loaded === 'string') return;
  const read = flagsRead(loaded.plan);
  if (read.has(name)) return;
  const near = nearest(name, read);
  const hint = near === undefined ? '' : `\n  did you mean "${near}"?`;
  process.stderr.write(`gw: no "feature_flag" of ${loaded.name} reads "${visible(name)}"${hint}\n`);
}

/** `gw flag unset NAME`: removes a flag. Exit code 1: it does not exist, or there is no response. */
export function unsetFlag(name: string, { json, dict, ...options }: FlagOptions): Promise<number> {
  return ask<{ name: string }>({ endpoint: 'flag_unset', query: { name, dict }, options }, (answer) =>
    json ? `${JSON.stringify(answer)}\n` : `${visible(answer.name)} is no longer set\n`,
  );
}

interface FlagCall {
  readonly endpoint: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly options: ControlOptions;
}

/** Sends a request and prints the response; an error envelope is a failure. */
async function ask<T>({ endpoint, query, options }: FlagCall, show: (answer: T) => string): Promise<number> {
  const target = findControl(endpoint, options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target, { query });
    const fault = faultIn(body, `${target.url} responds with ${status}`);
    if (fault !== undefined) return fail(`gw: ${visible(fault)}`);
    process.stdout.write(show(JSON.parse(body) as T));
    return 0;
  } catch (error) {
    return fail(`gw: ${(error as Error).message}`);
  }
}

/** Returns the fault in a response, or `otherwise` if it is not from the control surface; `undefined` after success. */
function faultIn(body: string, otherwise: string): string | undefined {
  const { status, message } = envelopeOf(body);
  return status === 'ok' ? undefined : (message ?? otherwise);
}

/** Returns the envelope of a response; a list has none and is never a failure. */
function envelopeOf(body: string): { status?: string; message?: string } {
  try {
    const answer = JSON.parse(body) as { status?: string; message?: string };
    return Array.isArray(answer) ? { status: 'ok' } : answer;
  } catch {
    return {};
  }
}

function stateOf({ enabled }: Flag): string {
  return enabled === 'true' ? 'on' : 'off';
}

function expiryOf({ ttl_s }: Flag): string {
  return ttl_s === '0' ? 'never' : `in ${ttl_s} s`;
}
