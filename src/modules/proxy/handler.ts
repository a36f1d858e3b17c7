import type { Build, PassTarget } from '../../contract/index.ts';
import type { Exchange, Handler } from '../../http/index.ts';
import { spoolBody, spooledBody, type SpooledBody } from '../../spool.ts';
import { type BalancingInput, compileSticky, type UpstreamGroup } from '../../upstream/index.ts';
import { ResponseDelivery } from './response-delivery.ts';
import { type Fetch, mayCache } from '../../upstream-cache/index.ts';
import { compileCached, forCache, type Outgoing } from './cache/compile-cached.ts';
import type { ProxyConfig } from './config.ts';
import { Forwarding, type ForwardingRules } from './forwarding.ts';
import { beginRound, NextRules } from './tries.ts';
import type { Provisioned } from './provision.ts';
import { compileRequestHead, compileRequestTarget } from './request-head.ts';
import { PassingUpload, SpooledUpload, type Upload, WholeUpload } from './upload.ts';
import { asksForPieces, compileSliced } from './slice/compile-sliced.ts';
import { compileTarget, type Target } from './target.ts';
import { keepsFacts } from './variables.ts';

/** Compiles the content handler of `proxy_pass`. It returns a promise only if it waits; responses arrive in callbacks. */
export function compileForwarding(
  pass: PassTarget,
  config: ProxyConfig,
  { provisioned, build }: { readonly provisioned: Provisioned; readonly build: Build },
): Handler {
  build.needAnyMethod();
  const targetOf = compileTarget(pass, config, { provisioned, build });
  const readUpload = compileUpload(config, build);
  const send = compileSend(config, provisioned, build);
  const forward = (x: Exchange, target: Target): void | Promise<void> => {
    const upload = readUpload(x);
    if (upload instanceof Promise)
      return upload.then((whole) => (whole ? send(x, target, whole) : undefined));
    return send(x, target, upload);
  };
  const handle: Handler = (x) => {
    const target = targetOf(x);
    if (target instanceof Promise) return target.then((found) => (x.done ? undefined : forward(x, found)));
    return forward(x, target);
  };
  return asksForPieces(config) ? compileSliced(config, { handle, provisioned }, build) : handle;
}

type Send = (x: Exchange, target: Target, upload: Upload | undefined) => void | Promise<void>;

function compileSend(config: ProxyConfig, provisioned: Provisioned, build: Build): Send {
  const rules: ForwardingRules = {
    config,
    next: new NextRules(config),
    delivery: new ResponseDelivery(config, build),
    log: build.log,
    sslName: compileSslName(config, build),
  };
  const requestTargetOf = compileRequestTarget(build.location);
  const headOf = compileRequestHead(config, build);
  const balancingInputOf = compileBalancingInput(provisioned, build);
  if (mayCache(config)) return compileCachedSend(config, { rules, provisioned }, build);
  const keeps = keepsFacts(build);
  return (x, target, upload) => {
    if (keeps) beginRound(x, target);
    const requestTarget = requestTargetOf(x, target.pass);
    const bodyBytes = upload?.bodyBytes ?? 0;
    const head = headOf(x, { target: requestTarget, proxyHost: target.proxyHost, bodyBytes });
    const selection = target.group.begin(balancingInputOf(x, target.group));
    new Forwarding(x, { target, requestTarget, head, upload }, { rules, selection }).begin();
  };
}

/** The same for a location with a cache: a request may be sent for the cache, and not at all. */
function compileCachedSend(
  config: ProxyConfig,
  { rules, provisioned }: { readonly rules: ForwardingRules; readonly provisioned: Provisioned },
  build: Build,
): Send {
  const requestTargetOf = compileRequestTarget(build.location);
  const headOf = compileRequestHead(config, build);
  const headForCache = compileRequestHead(forCache(config), build);
  const balancingInputOf = compileBalancingInput(provisioned, build);
  const fetch: Fetch<Outgoing> = (x, { target, requestTarget, upload }, { keeper, isForCache, method }) => {
    const { proxyHost, group } = target;
    const framing = { target: requestTarget, proxyHost, bodyBytes: upload?.bodyBytes ?? 0, method };
    const head = isForCache ? headForCache(x, framing) : headOf(x, framing);
    const selection = group.begin(balancingInputOf(x, group));
    const outgoing = { target, requestTarget, head, upload, ...(keeper && { keeper }) };
    new Forwarding(x, outgoing, { rules, selection }).begin();
  };
  const send = compileCached(config, { provisioned, delivery: rules.delivery, fetch }, build);
  return (x, target, upload) => {
    // The key may contain `$proxy_host`.
    beginRound(x, target);
    return send(x, { target, requestTarget: requestTargetOf(x, target.pass), upload });
  };
}

/** Compiles the values of a request that load balancing needs; only those that a group uses are read. */
export function compileBalancingInput(
  { upstreams }: Pick<Provisioned, 'upstreams'>,
  build: Build,
): (x: Exchange, group: UpstreamGroup) => BalancingInput {
  const { groups } = upstreams;
  if (groups.some(({ wantsClientAddress }) => wantsClientAddress)) build.needPeer();
  const inputs = new Map(groups.flatMap((group) => inputOf(group, build)));
  return (x, group) => inputs.get(group)?.(x) ?? NOTHING;
}

function inputOf(group: UpstreamGroup, build: Build): [UpstreamGroup, (x: Exchange) => BalancingInput][] {
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

/** Gives the body to be sent, `undefined` without one. A promise of `undefined`: the request has got a response already. */
function compileUpload(
  config: ProxyConfig,
  build: Build,
): (x: Exchange) => Upload | undefined | Promise<Upload | undefined> {
  if (config.setBody) {
    const render = build.value(config.setBody);
    return (x) => new WholeUpload(Buffer.from(render(x)));
  }
  if (!config.passRequestBody) return () => undefined;
  return (x) => {
    if (x.request.contentLength === 0) return undefined;
    // HTTP/1.0 has no chunked bodies.
    const needsLength = config.httpVersion === '1.0' && x.request.contentLength < 0;
    if (!config.requestBuffering && !needsLength) return new PassingUpload(x);
    // The body was read already if this is a mirrored request, or a retry in another location.
    const known = spooledBody(x.main);
    if (known) return uploadOf(known);
    return spoolBody(x, build.core).then((body) => body && spooledUpload(x, body));
  };
}

/** The file is closed when the request ends. */
function spooledUpload(x: Exchange, body: SpooledBody): Upload {
  if (!body.bytes) x.onEnd(() => void body.close());
  return uploadOf(body);
}

function uploadOf(body: SpooledBody): Upload {
  return body.bytes ? new WholeUpload(body.bytes) : new SpooledUpload(body);
}

/** The default, `$proxy_host`, needs nothing of the request. */
function compileSslName({ sslName }: ProxyConfig, build: Build): ForwardingRules['sslName'] {
  const [only] = sslName.parts;
  const isDefault = sslName.parts.length === 1 && typeof only === 'object' && 'variable' in only;
  if (isDefault && only.variable === 'proxy_host') return (_x, { proxyHost }) => proxyHost;
  const render = build.value(sslName);
  return (x) => render(x);
}
