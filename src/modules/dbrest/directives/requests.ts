import { directivesFor, readers } from '../../../config/index.ts';
import type { DbrestConfig } from '../config.ts';
import { EVERYWHERE, nameList, functionName, setting } from './readers.ts';

/** What a request may ask for, and what it gets. */
export const requests = directivesFor<DbrestConfig>()({
  dbrest_schemas: {
    contexts: EVERYWHERE,
    args: nameList,
    into: 'schemas',
    default: ['public'],
    defaultText: 'public',
    summary: 'Schemas that requests may read; the first is the default.',
    source: 'gw',
  },
  dbrest_extra_search_path: {
    contexts: EVERYWHERE,
    args: nameList,
    into: 'extraSearchPath',
    default: ['public'],
    defaultText: 'public',
    summary: 'Schemas where operators and functions are looked for besides the served one.',
    source: 'gw',
  },
  dbrest_max_rows: {
    contexts: EVERYWHERE,
    args: readers.integer({ min: 1 }),
    into: 'maxRows',
    summary: 'Most rows in one answer.',
    source: 'gw',
  },
  dbrest_pre_request: {
    contexts: EVERYWHERE,
    args: functionName,
    into: 'preRequest',
    summary: 'Function that runs in front of every request, as its role and in its transaction.',
    source: 'gw',
  },
  dbrest_tx_end: {
    contexts: EVERYWHERE,
    args: readers.oneOf('commit', 'commit-allow-override', 'rollback', 'rollback-allow-override'),
    into: 'txEnd',
    default: 'commit',
    summary: 'How the transaction of a request ends, and whether "Prefer: tx" may choose.',
    source: 'gw',
  },
  dbrest_setting: {
    contexts: EVERYWHERE,
    args: setting,
    into: 'settings',
    repeat: 'append',
    secret: 'whole',
    summary: 'A setting "app.settings.name" that the database finds in every request.',
    source: 'gw',
  },
  dbrest_aggregates: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'aggregates',
    default: true,
    defaultText: 'on',
    summary: 'Lets "select" count and sum up rows.',
    source: 'gw',
  },
  dbrest_rpc: {
    contexts: EVERYWHERE,
    args: readers.oneOf('auto', 'on', 'off'),
    into: 'rpc',
    default: 'auto',
    summary:
      'Which paths call functions: "auto", those below "rpc/", and all of a location whose path ends in "/rpc/"; "on", all; "off", none.',
    source: 'gw',
  },
  dbrest_plan: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'plan',
    default: false,
    defaultText: 'off',
    summary: 'Answers with the execution plan where "Accept" asks for it.',
    source: 'gw',
  },
  dbrest_server_timing: {
    contexts: EVERYWHERE,
    args: readers.flag,
    into: 'serverTiming',
    default: false,
    defaultText: 'off',
    summary: 'Tells in "Server-Timing" how long each part of a request took.',
    source: 'gw',
  },
});
