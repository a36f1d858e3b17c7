import type { Build } from '../../contract/index.ts';
import {
  compileReadGate,
  type Exchange,
  type Handler,
  isRead,
  type KnowsHost,
  SITE_HEADERS,
  writeRefusal,
} from '../../http/index.ts';
import {
  type Member,
  MEMBER_CODES,
  type MemberChange,
  MemberFault,
  readMembers,
  readPatch,
  type UpstreamGroup,
} from '../../upstream/index.ts';
import type { GroupChanges } from './changes.ts';
import type { SourceKind } from './directives.ts';

const MODULE = '{"module":"dynamic_upstreams"';
const MAX_BODY_BYTES = 256 * 1024;
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** The resources of the API in one location. */
interface ApiScope {
  readonly group: UpstreamGroup;
  readonly changes: GroupChanges | undefined;
  readonly knowsHost: KnowsHost;
}

/** Compiles `dynamic_upstreams_api`. */
export function compileApi(source: SourceKind, scope: ApiScope, build: Build): Handler {
  for (const name of [...SITE_HEADERS, 'content-type', 'if-match']) build.needHeader(name);
  const { group, changes, knowsHost } = scope;
  const gate = compileReadGate(build, knowsHost);
  return (x) => {
    if (isRead(x)) {
      const refusal = gate(x);
      if (refusal !== undefined) return refuse(x, 403, refusal);
      return x.send(200, 'application/json', describe(group, source));
    }
    if (!changes || (x.method !== 'PUT' && x.method !== 'PATCH'))
      return refuseMethod(x, changes !== undefined);
    // Pages of other sites need a preflight request for this; one of a foreign name that resolves to gw does not.
    const foreign = writeRefusal(x, knowsHost);
    if (foreign !== undefined) return refuse(x, 403, foreign);
    if (!JSON_TYPE.test(x.header('content-type') ?? '')) {
      changes.failed(MEMBER_CODES.type);
      return refuse(x, 415, 'content-type must be application/json');
    }
    return x.readBody(MAX_BODY_BYTES).then((body) => {
      // Without a body, the response has been sent already or the client has gone.
      if (body) return change(x, body.toString(), changes);
      return undefined;
    });
  };
}

async function change(x: Exchange, text: string, changes: GroupChanges): Promise<void> {
  let response: string;
  try {
    const expected = readIfMatch(x.header('if-match'));
    response = x.method === 'PUT' ? put(text, changes, expected) : patch(text, changes, expected);
  } catch (error) {
    if (!(error instanceof MemberFault)) throw error;
    changes.failed(error.code);
    return refuse(x, error.status, error.message);
  }
  await changes.written();
  x.send(200, 'application/json', response);
}

function put(text: string, changes: GroupChanges, expected: number | undefined): string {
  changes.requireApi();
  const done = changes.put(readMembers(text), expected);
  return okText({ action: 'put', ...countsOf(done, changes) });
}

function patch(text: string, changes: GroupChanges, expected: number | undefined): string {
  const wanted = readPatch(text);
  if (wanted.kind === 'lists') {
    changes.requireApi();
    const done = changes.patch(wanted, expected);
    const { added, removed } = done;
    return okText({ action: 'patch', changed: done.changed, added, removed, ...countsOf(done, changes) });
  }
  const { changed, set } = changes.patch(wanted, expected);
  const { address, kind: action } = wanted;
  const drained = { drain_count: changes.drainCount(set), generation: set.generation };
  return okText({ action, address, changed, ...drained });
}

function countsOf({ changed, set }: MemberChange, changes: GroupChanges): object {
  return { changed, generation: set.generation, peer_count: changes.peerCount(set) };
}

function okText(fields: object): string {
  return `${MODULE},"status":"ok",${JSON.stringify(fields).slice(1)}`;
}

/** Reads the generation that a change expects; `*` is any. */
function readIfMatch(value: string | undefined): number | undefined {
  if (value === undefined || value.trim() === '*') return undefined;
  const [, digits] = /^\s*"(\d{1,15})"\s*$/.exec(value) ?? [];
  if (digits !== undefined) return Number(digits);
  throw new MemberFault(412, MEMBER_CODES.shape, 'if-match must be a generation in double quotes');
}

function describe(group: UpstreamGroup, source: string): string {
  const { membership, name } = group;
  const set = membership?.set;
  const peers = group.view();
  return JSON.stringify({
    module: 'dynamic_upstreams',
    target: name,
    source,
    writable: membership !== undefined && source === 'static',
    generation: set?.generation ?? 0,
    peer_count: peers.length,
    drain_count: peers.filter(({ state }) => state === 'draining').length,
    last_error_code: set?.last_error_code ?? 0,
    last_error_at_msec: set?.last_error_at_msec ?? 0,
    last_success_at_msec: set?.last_success_at_msec ?? 0,
    restored_from_journal: set?.restored_from_journal ?? false,
    restore_error_code: set?.restore_error_code ?? 0,
    peers: peers.map(({ member, state, requests, fails }) => ({
      ...(member satisfies Member),
      state: state === 'unavailable' || state === 'failing' ? 'failed' : state,
      active_requests: requests,
      fails,
    })),
  });
}

function refuseMethod(x: Exchange, isManaged: boolean): void {
  x.response.setHeader('Allow', isManaged ? 'GET, HEAD, PUT, PATCH' : 'GET, HEAD');
  const isWrite = x.method === 'PUT' || x.method === 'PATCH';
  refuse(
    x,
    405,
    isWrite
      ? 'the upstream is not managed: its block has no "dynamic_upstreams_managed"'
      : 'method not allowed',
  );
}

function refuse(x: Exchange, status: number, error: string): void {
  if (status === 503) x.response.setHeader('Retry-After', '1');
  x.send(status, 'application/json', `${MODULE},"status":"error","error":${JSON.stringify(error)}}`);
}
