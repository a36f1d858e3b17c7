import { type DirectiveNode, lineBefore } from '../../../../grammar/index.ts';
import type { BlockView } from '../../../config/index.ts';
import {
  ASKING_WHO,
  authIn,
  type CheckedConfig,
  configOf,
  KEEP_OUT,
  matchOf,
  type Problem,
  type Rule,
} from '../../../contract/index.ts';
import { isAnyEnough, isForAll } from '../access.ts';

const returnBypassesAcl: Rule = {
  id: 'GW308',
  slug: 'return-bypasses-acl',
  severity: 'error',
  summary: '"return" responds before access is checked',
  why: 'The rewrite phase comes before the access phase, so "allow", "deny", "auth_basic" and "auth_request" of the same block are never checked; "quota" and "limit_req" count nothing.',
  fix: 'Serve a file, or move "return" to an internal location that "try_files" or "rewrite ... last" leads to.',
  bad: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;\nreturn 200 "for us only";' },
  good: { in: 'location', text: 'allow 10.0.0.0/8;\ndeny all;\ntry_files /page.html =404;' },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('return')) {
      const asks = asking(block);
      const [first] = asks;
      if (isRefusal(node)) continue;
      if (!first) yield* uncounted(node, block);
      else
        yield {
          at: node,
          message: `"return" runs before "${first.name.value}": anyone gets the response`,
          label: 'responds first',
          related: asks.map(({ span }) => ({ span, label: 'never checked' })),
        };
    }
  },
};

/** The limits of the block itself, which do not see the requests that "return" responds to. */
function* uncounted(node: DirectiveNode, block: BlockView): Iterable<Problem> {
  const limits = block.own(...LIMITS).filter(isAsking);
  const [first] = limits;
  if (first)
    yield {
      at: node,
      severity: 'warning',
      message: `"return" runs before "${first.name.value}": no request is counted`,
      label: 'responds first',
      related: limits.map(({ span }) => ({ span, label: 'never counts' })),
    };
}

const LIMITS = ['quota', 'limit_req', 'limit_conn'] as const;

/** The access directives in the block itself; inherited ones may be meant for other locations. */
function asking(block: BlockView): readonly DirectiveNode[] {
  return block.own('deny', ...ASKING_WHO).filter(isAsking);
}

function isAsking({ args }: DirectiveNode): boolean {
  return args[0] !== undefined && args[0].value !== 'off';
}

const returnBelowAccess: Rule = {
  id: 'GW334',
  slug: 'return-below-access',
  severity: 'info',
  summary: '"return" in a location of a server with "deny" or a password',
  why: 'The rewrite phase comes before the access phase: a location with "return" responds without the checks of the server.',
  fix: 'If anyone may get the response, write "allow all" or "auth_basic off" in the location. Otherwise, serve a file.',
  bad: {
    text: 'auth_basic "staff";\nauth_basic_user_file staff;\nlocation = /version { return 200 "1.2.3"; }',
  },
  good: {
    text: 'auth_basic "staff";\nauth_basic_user_file staff;\nlocation = /version { auth_basic off; return 200 "1.2.3"; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('return')) {
      // A redirect reveals nothing, and redirects to HTTPS or another host are meant for all clients.
      const tells = node.args.length === 2 && /^2\d\d$/.test(node.args[0]?.value ?? '');
      if (!tells || !matchOf(block) || asking(block).length > 0) continue;
      const asks = block.effective('deny', ...ASKING_WHO).filter(isAsking);
      const [first] = asks;
      if (!first) continue;
      yield {
        at: node,
        message: `"return" runs before the inherited "${first.name.value}": anyone gets the response`,
        related: asks.map(({ span }) => ({ span, label: 'never checked' })),
      };
    }
  },
};

function isRefusal({ args }: DirectiveNode): boolean {
  return /^[45]\d\d$/.test(args[0]?.value ?? '');
}

/** The directives that act together with `satisfy`. */
const PARTS = ['satisfy', 'allow', 'deny', ...ASKING_WHO] as const;

const satisfyAnyOpen: Rule = {
  id: 'GW310',
  slug: 'satisfy-any-open',
  severity: 'warning',
  summary: '"satisfy any" beside "allow all": no client needs a password',
  why: 'With "satisfy any", one successful check is enough, and "allow all" always succeeds.',
  fix: 'List the networks that need no password, and end the list with "deny all".',
  bad: {
    in: 'location',
    text: 'satisfy any;\nallow all;\nauth_basic "staff";\nauth_basic_user_file staff;',
  },
  good: {
    in: 'location',
    text: 'satisfy any;\nallow 10.0.0.0/8;\ndeny all;\nauth_basic "staff";\nauth_basic_user_file staff;',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const block of config.blocksWith(...PARTS)) {
      const everybody = block.effective('allow', 'deny').find(isForAll);
      const [auth] = authIn(block);
      if (!isAnyEnough(block) || everybody?.name.value !== 'allow' || !auth) continue;
      yield {
        at: everybody,
        message: `"allow all" with "satisfy any" disables "${auth.name.value}"`,
        related: [{ span: auth.span, label: 'never checked' }],
      };
    }
  },
};

const authOffClosed: Rule = {
  id: 'GW333',
  slug: 'auth-off-closed',
  severity: 'warning',
  summary: '"auth_basic off" under "satisfy any" and a list of addresses does not open a location',
  why: 'Without the password check, only the addresses decide: clients from other addresses, who could use a password before, are refused.',
  fix: 'To open the location, add "allow all" to it. To let only the addresses decide, write "satisfy all".',
  bad: {
    text: 'satisfy any;\nallow 10.0.0.0/8;\ndeny all;\nauth_basic "staff";\nauth_basic_user_file staff;\nlocation /public/ { auth_basic off; }',
  },
  good: {
    text: 'satisfy any;\nallow 10.0.0.0/8;\ndeny all;\nauth_basic "staff";\nauth_basic_user_file staff;\nlocation /public/ { auth_basic off; allow all; }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node, block } of config.uses('auth_basic')) {
      const isOwn = block.own('satisfy', 'allow', 'deny').length > 0;
      const [password] = block.outer?.effective('auth_basic') ?? [];
      if (node.args[0]?.value !== 'off' || isOwn || !password || password.args[0]?.value === 'off') continue;
      const closing = block.effective('deny').find(isForAll);
      if (!closing || !isAnyEnough(block) || authIn(block).length > 0) continue;
      yield {
        at: node,
        message: '"auth_basic off" does not open this location: "deny all" still refuses other addresses',
        hint: 'add "allow all" to open the location',
        related: [{ span: closing.span, label: 'refuses' }],
      };
    }
  },
};

/** Directives whose targets are requested by the gateway only. */
const ASKING = ['auth_request', 'mirror'] as const;

const internalLeak: Rule = {
  id: 'GW318',
  slug: 'internal-leak',
  severity: 'warning',
  summary: 'a location for subrequests that clients can request',
  why: 'A client that requests the location of "auth_request" or "mirror" reaches the service behind it, with any headers it likes.',
  fix: 'Add "internal" to the location.',
  bad: {
    text: 'location / { auth_request /auth; }\nlocation = /auth {\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  good: {
    text: 'location / { auth_request /auth; }\nlocation = /auth {\n    internal;\n    proxy_pass http://127.0.0.1:9000;\n}',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const server of config.blocks('server')) {
      const all = within(server);
      const targets = targetsIn([...server.outward(), ...all]);
      for (const block of all) {
        const match = matchOf(block);
        const path = match && 'path' in match ? match.path : '/';
        const asking = targets.get(path);
        // A fixed response reveals nothing.
        const isFixed = block.own('return').length > 0 || configOf(block.level, 'core').internal;
        if (path === '/' || !asking || !block.node || isFixed) continue;
        yield leakProblem(block.node, asking);
      }
    }
  },
};

function leakProblem(location: DirectiveNode, asking: DirectiveNode): Problem {
  const path = location.args.at(-1);
  const [first] = location.block ?? [];
  return {
    at: path?.span ?? location,
    message: `location "${path?.value}" is for "${asking.name.value}", but any client can request it: add "internal"`,
    related: [{ span: asking.span, label: 'uses it' }],
    ...(first && {
      fix: {
        title: 'add "internal": requests from clients then get 404',
        safe: false,
        edits: [lineBefore(first, 'internal;')],
      },
    }),
  };
}

function targetsIn(blocks: readonly BlockView[]): ReadonlyMap<string, DirectiveNode> {
  return new Map(
    blocks
      .flatMap((block) => block.own(...ASKING))
      .flatMap((node) => (node.args[0] ? [[node.args[0].value, node] as const] : [])),
  );
}

function within(block: BlockView): readonly BlockView[] {
  return [block, ...block.inner.flatMap(within)];
}

const statusExposed: Rule = {
  id: 'GW315',
  slug: 'status-exposed',
  severity: 'warning',
  summary: 'stub_status or metrics that anyone can read',
  why: 'Numbers of requests, locations and upstreams show strangers how the gateway is built and when it is overloaded.',
  fix: 'Restrict access with "allow" and "deny", or listen on a loopback address or a Unix socket.',
  bad: { in: 'http', text: 'server { listen 80; location = /status { stub_status; } }' },
  good: {
    in: 'http',
    text: 'server { listen 80; location = /status { allow 127.0.0.1; deny all; stub_status; } }',
  },
  *check(config: CheckedConfig): Iterable<Problem> {
    for (const { node } of config.exposed('status-exposed')) {
      const text = [node.name, ...node.args].map(({ value }) => value).join(' ');
      yield { at: node, message: `"${text}" can be read by anyone`, hint: KEEP_OUT };
    }
  },
};

/** The rules about access: `allow`, `deny`, passwords, internal locations. */
export const ACCESS_RULES: readonly Rule[] = [
  returnBypassesAcl,
  returnBelowAccess,
  satisfyAnyOpen,
  authOffClosed,
  internalLeak,
  statusExposed,
];
