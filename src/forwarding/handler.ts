import { spoolBody, spooledBody, type SpooledBody, spoolRules, type SpoolRules } from '../bodies/index.ts';
import { type Fetch, mayCache } from '../cache/index.ts';
import type { Exchange, Handler, HeaderFilter } from '../http/index.ts';
import {
  type BalancingInput,
  compileSticky,
  setsCookie,
  setStickyCookie,
  type UpstreamGroup,
} from '../upstream/index.ts';
import type { ForwardingBuild } from './forwarding-build.ts';
import { compileCached, type Outgoing } from './cached-sending.ts';
import type { ForwardingConfig } from './config.ts';
import type { Provisioned } from './connections.ts';
import { Forwarding, type ForwardingRules } from './forwarding.ts';
import type { Protocol, Target } from './protocol.ts';
import { ResponseDelivery } from './response-delivery.ts';
import { asksForPieces, compileSliced } from './slice/compile-sliced.ts';
import { beginOwnRound, beginRound, keepsFacts, NextRules } from './tries.ts';
import { PassingUpload, SpooledUpload, type Upload, WholeUpload } from './upload.ts';

/** A location that forwards requests. */
interface ForwardingLocation<T extends Target> {
  readonly config: ForwardingConfig;
  readonly provisioned: Provisioned;
  readonly protocol: Protocol<T>;
  /** Returns the body to send instead of the client's, which it may contain. */
  readonly body?: (x: Exchange) => Buffer;
}

/** Compiles the content handler of `proxy_pass` and so on. It does not await responses: they come in callbacks. */
export function compileForwarding<T extends Target>(
  location: ForwardingLocation<T>,
  build: ForwardingBuild,
): Handler {
  const { config, protocol, provisioned, body } = location;
  const readUpload =
    body || !config.passRequestBody
      ? compileOwnBody(body ?? (() => NO_BYTES), build)
      : compileClientBody(config, protocol, build);
  const send = compileSend(location, build);
  const forward = (x: Exchange, target: T): void | Promise<void> => {
    const upload = readUpload(x);
    if (upload instanceof Promise)
      return upload.then((whole) => (whole ? send(x, target, whole) : undefined));
    return send(x, target, upload);
  };
  const handle: Handler = (x) => {
    const target = protocol.targetOf(x);
    if (target instanceof Promise) return target.then((found) => (x.done ? undefined : forward(x, found)));
    return forward(x, target);
  };
  if (!asksForPieces(protocol.range, build.core.sliceBytes)) return handle;
  return compileSliced({ handle, config, protocol, provisioned }, build);
}

type ReadUpload = (x: Exchange) => Upload | undefined | Promise<Upload | undefined>;
type Send<T> = (x: Exchange, target: T, upload: Upload | undefined) => void | Promise<void>;

function compileSend<T extends Target>(location: ForwardingLocation<T>, build: ForwardingBuild): Send<T> {
  const { config, provisioned, protocol } = location;
  const rules: ForwardingRules = {
    config,
    next: new NextRules(config),
    delivery: new ResponseDelivery(config, protocol, build),
    log: build.log,
    protocol,
  };
  if (mayCache(config)) return compileCachedSend(location, rules, build);
  const headOf = protocol.compileHead(false);
  const balancingInputOf = compileBalancingInput(provisioned, build);
  const keeps = keepsFacts(build);
  return (x, target, upload) => {
    if (keeps) beginRound(x, target);
    const uri = protocol.uriOf(x, target);
    const bodyBytes = upload?.bodyBytes ?? 0;
    const head = headOf(x, { target, uri, bodyBytes });
    const selection = target.group.begin(balancingInputOf(x, target.group));
    new Forwarding(x, { target, uri, head, upload }, { rules, selection }).begin();
  };
}

/** Compiles the sending for a location with a cache: the response may be stored, or a stored one may be served. */
function compileCachedSend<T extends Target>(
  { config, provisioned, protocol }: ForwardingLocation<T>,
  rules: ForwardingRules,
  build: ForwardingBuild,
): Send<T> {
  const headOf = protocol.compileHead(false);
  const headForCache = protocol.compileHead(true);
  const balancingInputOf = compileBalancingInput(provisioned, build);
  const fetch: Fetch<Outgoing<T>> = (
    x,
    { target, uri, upload },
    { keeper, isForCache, isUpdate, method },
  ) => {
    // The request of an update has facts of its own: `$upstream_…` of the client describe the stored response.
    if (isUpdate) beginOwnRound(x, target);
    const asked = { target, uri, bodyBytes: upload?.bodyBytes ?? 0, method };
    const head = isForCache ? headForCache(x, asked) : headOf(x, asked);
    const selection = target.group.begin(balancingInputOf(x, target.group));
    const outgoing = { target, uri, head, upload, ...(keeper && { keeper }) };
    new Forwarding(x, outgoing, { rules, selection }).begin();
  };
  const { delivery } = rules;
  const send = compileCached({ config, provisioned, protocol, delivery, fetch }, build);
  return (x, target, upload) => {
    // The key may contain `$proxy_host`.
    beginRound(x, target);
    return send(x, { target, uri: protocol.uriOf(x, target), upload });
  };
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Returns the body of `proxy_set_body`, or an empty one. The client's body is read too, as in nginx: its variable
 * `$request_body` can be used in the new body, in headers and in the log.
 */
function compileOwnBody(body: (x: Exchange) => Buffer, build: ForwardingBuild): ReadUpload {
  const rules = spoolRules(build);
  return (x) => {
    if (x.request.contentLength === 0 || spooledBody(x.main)) return new WholeUpload(body(x));
    return readWhole(x, rules).then((read) => read && new WholeUpload(body(x)));
  };
}

/** Returns the body to send. `undefined`: there is no body. A promise of `undefined`: the request has got a response. */
function compileClientBody(
  config: ForwardingConfig,
  { takesUnknownLength }: { readonly takesUnknownLength: boolean },
  build: ForwardingBuild,
): ReadUpload {
  const rules = spoolRules(build);
  const keptBytes = build.uses('request_body') ? rules.bodyBufferBytes : 0;
  return (x) => {
    if (x.request.contentLength === 0) return undefined;
    // It has been read for a mirrored request, and if another location has forwarded it before an `error_page`.
    const known = spooledBody(x.main);
    if (known) return uploadOf(known);
    const needsLength = !takesUnknownLength && x.request.contentLength < 0;
    if (!config.requestBuffering && !needsLength) return new PassingUpload(x, keptBytes);
    return readWhole(x, rules).then((body) => body && uploadOf(body));
  };
}

/** Reads the whole body. Its file is closed when the request ends. */
async function readWhole(x: Exchange, rules: SpoolRules): Promise<SpooledBody | undefined> {
  const body = await spoolBody(x, rules);
  if (body && !body.bytes) x.onEnd(() => void body.close());
  return body;
}

function uploadOf(body: SpooledBody): Upload {
  if (body.length === 0) return new WholeUpload(NO_BYTES);
  return body.bytes ? new WholeUpload(body.bytes) : new SpooledUpload(body);
}

/** Compiles the values of a request that load balancing needs. Only those that a group uses are read. */
export function compileBalancingInput(
  { upstreams }: Pick<Provisioned, 'upstreams'>,
  build: ForwardingBuild,
): (x: Exchange, group: UpstreamGroup) => BalancingInput {
  const { groups } = upstreams;
  if (groups.some(({ wantsClientAddress }) => wantsClientAddress)) build.needPeer();
  const inputs = new Map(groups.flatMap((group) => inputOf(group, build)));
  return (x, group) => inputs.get(group)?.(x) ?? NOTHING;
}

function inputOf(
  group: UpstreamGroup,
  build: ForwardingBuild,
): [UpstreamGroup, (x: Exchange) => BalancingInput][] {
  const { key, sticky, wantsClientAddress } = group;
  if (!key && !sticky && !wantsClientAddress) return [];
  const keyOf = key && build.value(key);
  const bindingOf = compileSticky(group, build);
  const read = (x: Exchange): BalancingInput => ({
    ...(keyOf && { key: keyOf(x) }),
    ...(wantsClientAddress && { clientAddress: x.remoteAddress }),
    ...(bindingOf && { binding: bindingOf(x) }),
  });
  return [[group, read]];
}

const NOTHING: BalancingInput = {};

/** Returns the filter that sets the cookies of sticky groups; no filter if there is no such group. */
export function stickyFilter({ upstreams: { groups } }: Pick<Provisioned, 'upstreams'>): {
  readonly filter?: HeaderFilter;
} {
  return groups.some(({ sticky }) => sticky && setsCookie(sticky)) ? { filter: setStickyCookie } : {};
}
