import type { DirectiveNode } from '../../../grammar/index.ts';
import type { BlockView } from '../../config/index.ts';
import { type CheckedModule, matchOf, type ModuleRule, type Problem } from '../../contract/index.ts';
import { mayCache } from '../../cache/index.ts';
import type { FastcgiConfig } from './config.ts';

const SCRIPT = 'fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;';

/** Tells whether a location passes requests to PHP, by its pattern, its address or its parameters. */
function isForPhp(block: BlockView, node: DirectiveNode): boolean {
  const match = matchOf(block);
  const isNamed = match?.kind === 'regex' && /\\\.(?:\(\?:)?\(?ph/i.test(match.regex.pattern);
  return isNamed || /php|:9000$/i.test(node.args[0]?.value ?? '');
}

const fastcgiAnyScript: ModuleRule<FastcgiConfig> = {
  id: 'GW430',
  slug: 'fastcgi-any-script',
  severity: 'warning',
  summary: 'PHP gets every path that looks like a script, even if there is no such file',
  why: 'With "cgi.fix_pathinfo", which is on by default, a request for "/avatar.png/x.php" makes PHP run "/avatar.png": an uploaded file becomes a program.',
  fix: 'Pass only existing files: "try_files $uri =404;", or "if (!-f $document_root$fastcgi_script_name) { return 404; }" if paths continue after the script.',
  bad: { text: `location ~ \\.php$ {\n    ${SCRIPT}\n    fastcgi_pass 127.0.0.1:9000;\n}` },
  good: {
    text: `location ~ \\.php$ {\n    try_files $uri =404;\n    ${SCRIPT}\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('fastcgi_pass')) {
      if (!takesAnyScript(block) || !isForPhp(block, node) || testsFiles(block)) continue;
      if (namesFixedScript(config, block)) continue;
      yield {
        at: node,
        message: 'PHP gets paths without a script: "/avatar.png/x.php" may run an uploaded file',
        hint: 'add "try_files $uri =404;" before it',
      };
    }
  },
};

/** Tells whether the pattern matches paths of any script. `^/index\.php(/|$)` matches one script only. */
function takesAnyScript(block: BlockView): boolean {
  const match = matchOf(block);
  return match?.kind === 'regex' && new RegExp(match.regex.source).test('/avatar.png/x.php');
}

/** Tells whether `try_files`, or an `if` about files, passes only scripts that exist. */
function testsFiles(block: BlockView): boolean {
  if (block.effective('try_files').length > 0) return true;
  return block.own('if').some(({ args }) => args.some(({ value }) => /^\(?!?-[fe]$/.test(value)));
}

/** Tells whether the configuration alone determines the script. */
function namesFixedScript(config: CheckedModule<FastcgiConfig>, block: BlockView): boolean {
  const script = scriptFilename(config, block);
  return (
    script !== undefined && !/fastcgi_script_name|uri|request_filename/.test(JSON.stringify(script.value))
  );
}

const scriptFilename = (config: CheckedModule<FastcgiConfig>, block: BlockView) =>
  config.configIn(block).params?.find(({ name }) => name === 'SCRIPT_FILENAME');

const fastcgiNoScript: ModuleRule<FastcgiConfig> = {
  id: 'GW431',
  slug: 'fastcgi-no-script',
  severity: 'warning',
  summary: 'PHP is not told which script to run',
  why: 'php-fpm runs the script in "SCRIPT_FILENAME". Without it, responses are empty or "File not found." A level with a "fastcgi_param" of its own inherits none.',
  fix: `Add "${SCRIPT.slice(0, -1)}".`,
  bad: {
    text: 'location ~ \\.php$ {\n    try_files $uri =404;\n    fastcgi_param QUERY_STRING $query_string;\n    fastcgi_pass 127.0.0.1:9000;\n}',
  },
  good: {
    text: `location ~ \\.php$ {\n    try_files $uri =404;\n    fastcgi_param QUERY_STRING $query_string;\n    ${SCRIPT}\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  *check(config): Iterable<Problem> {
    for (const { node, block } of config.uses('fastcgi_pass')) {
      if (!isForPhp(block, node) || scriptFilename(config, block)) continue;
      const above = block.outer?.effective('fastcgi_param') ?? [];
      const isReplaced = above.some(({ args }) => args[0]?.value === 'SCRIPT_FILENAME');
      yield {
        at: node,
        message: 'PHP gets no "SCRIPT_FILENAME", so it does not know which script to run',
        hint: isReplaced
          ? 'the "fastcgi_param" of this level replace those of the outer level: repeat them here'
          : `add "${SCRIPT.slice(0, -1)}"`,
      };
    }
  },
};

const fastcgiPathInfo: ModuleRule<FastcgiConfig> = {
  id: 'GW432',
  slug: 'fastcgi-path-info',
  severity: 'warning',
  summary: '"try_files $uri" with "fastcgi_split_path_info", which allows paths after the script',
  why: 'The whole path is tested, but "/app.php/orders" is not a file: every request with a path after the script gets 404.',
  fix: 'Test only the script: save the path info with "set" and write "try_files $fastcgi_script_name =404;", or write "if (!-f $document_root$fastcgi_script_name) { return 404; }".',
  bad: {
    text: `location ~ \\.php(/|$) {\n    fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n    try_files $uri =404;\n    ${SCRIPT}\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  good: {
    text: `location ~ \\.php(/|$) {\n    fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n    if (!-f $document_root$fastcgi_script_name) { return 404; }\n    ${SCRIPT}\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  *check(config): Iterable<Problem> {
    for (const { block } of config.uses('fastcgi_pass')) {
      const [tried] = block.own('try_files');
      if (!tried || !config.configIn(block).splitPathInfo || !goesOn(block)) continue;
      const [first, second] = tried.args.map(({ value }) => value);
      if (first !== '$uri' || second !== '=404') continue;
      yield {
        at: tried,
        message: '"try_files $uri" tests the whole path, so every path after a script gets 404',
        hint: 'test "$fastcgi_script_name" instead',
      };
    }
  },
};

const fastcgiEmptyPathInfo: ModuleRule<FastcgiConfig> = {
  id: 'GW437',
  slug: 'fastcgi-empty-path-info',
  severity: 'info',
  summary: '"$fastcgi_path_info" without "fastcgi_split_path_info"',
  why: 'The variable contains the end of the path that "fastcgi_split_path_info" splits off. Without that directive, it is always empty.',
  fix: 'Add "fastcgi_split_path_info ^(.+?\\.php)(/.*)$;", or remove the parameter.',
  bad: {
    text: `location ~ \\.php$ {\n    try_files $uri =404;\n    ${SCRIPT}\n    fastcgi_param PATH_INFO $fastcgi_path_info;\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  good: {
    text: `location ~ \\.php$ {\n    try_files $uri =404;\n    ${SCRIPT}\n    fastcgi_param QUERY_STRING $query_string;\n    fastcgi_pass 127.0.0.1:9000;\n}`,
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block } of config.uses('fastcgi_pass')) {
      if (config.configIn(block).splitPathInfo) continue;
      for (const at of block.effective('fastcgi_param')) {
        if (told.has(at) || !/^\$\{?fastcgi_path_info\b/.test(at.args[1]?.value ?? '')) continue;
        told.add(at);
        yield {
          at,
          message: '"$fastcgi_path_info" is always empty: there is no "fastcgi_split_path_info"',
          hint: 'add "fastcgi_split_path_info ^(.+?\\.php)(/.*)$"',
        };
      }
    }
  },
};

/** Tells whether the pattern of the location allows a path after the script. */
function goesOn(block: BlockView): boolean {
  const match = matchOf(block);
  return match?.kind !== 'regex' || !/\.php\)?\$$/.test(match.regex.pattern);
}

const fastcgiCacheKey: ModuleRule<FastcgiConfig> = {
  id: 'GW433',
  slug: 'fastcgi-cache-key',
  severity: 'warning',
  summary: '"fastcgi_cache" without a "fastcgi_cache_key"',
  why: 'nginx has no default key: it warns, and serves the first stored response for every page. The default of gw is "$scheme$host$request_uri", so both serve the same configuration differently.',
  fix: 'Set a key: "fastcgi_cache_key $scheme$request_method$host$request_uri;".',
  bad: {
    in: 'http',
    text: 'fastcgi_cache_path /var/cache/gw keys_zone=pages:1m;\nserver {\n    listen 127.0.0.1:80;\n    location / {\n        fastcgi_cache pages;\n        fastcgi_cache_valid 1m;\n        fastcgi_pass 127.0.0.1:9001;\n    }\n}',
  },
  good: {
    in: 'http',
    text: 'fastcgi_cache_path /var/cache/gw keys_zone=pages:1m;\nserver {\n    listen 127.0.0.1:80;\n    location / {\n        fastcgi_cache pages;\n        fastcgi_cache_key $scheme$request_method$host$request_uri;\n        fastcgi_cache_valid 1m;\n        fastcgi_pass 127.0.0.1:9001;\n    }\n}',
  },
  *check(config): Iterable<Problem> {
    const told = new Set<DirectiveNode>();
    for (const { block } of config.uses('fastcgi_pass')) {
      const values = config.configIn(block);
      const [at] = config.nodesIn(block, 'cache');
      if (!at || !mayCache(values) || values.cacheKey || told.has(at)) continue;
      told.add(at);
      yield {
        at,
        message: 'no "fastcgi_cache_key" for "fastcgi_cache": nginx would serve one response for every page',
        hint: 'add "fastcgi_cache_key $scheme$request_method$host$request_uri"',
      };
    }
  },
};

/** The rules about FastCGI programs. */
export const rules: readonly ModuleRule<FastcgiConfig>[] = [
  fastcgiAnyScript,
  fastcgiNoScript,
  fastcgiPathInfo,
  fastcgiEmptyPathInfo,
  fastcgiCacheKey,
];
