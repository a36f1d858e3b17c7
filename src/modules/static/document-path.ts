import { realpathSync } from 'node:fs';
import { constantText } from '../../config/index.ts';
import type { Build, DocumentRootConfig, ModuleDefinition } from '../../contract/index.ts';
import { type Exchange, stateKey } from '../../http/index.ts';
import type { StaticConfig } from './directives.ts';

/** Maps URIs to paths in one location (nginx: ngx_http_map_uri_to_path). */
export interface DocumentPath {
  /** Returns `$document_root`, which the paths begin with. */
  root(x: Exchange): string;
  /** Returns the path of a decoded URI; `undefined` if it is outside of the root. */
  of(x: Exchange, uri: string): string | undefined;
  /** True if a rewritten URI no longer begins with the location that the alias replaces; then it has no path. */
  isLost(x: Exchange): boolean;
  /** Returns the part of a `try_files` name after the root, without the location's path if an alias replaces it. */
  rest(name: string): string;
  ofRest(x: Exchange, rest: string): string | undefined;
  /** Returns the URI of a file that `try_files` found. */
  uriOf(x: Exchange, found: { readonly rest: string; readonly isDirectory: boolean }): string;
}

/** A `..` segment. URIs are normalized, but rewritten ones and those that are joined with an alias need not be. */
const UPWARDS = /(?:^|\/)\.\.(?=\/|$)/g;

/** A regex alias is a whole path; after `try_files` has found a file, its name is appended (nginx: r->add_uri_to_alias). */
const FOLLOWED_BY_URI = stateKey<boolean>('static: the URI follows the alias');

/** Compiles `root` or `alias` of a location, or the default root. */
export function compileDocumentPath(build: Build): DocumentPath {
  const { documentRoot } = build.core;
  if (!documentRoot) return belowRoot(() => `${build.prefix}/html`);
  const root = compileRoot(documentRoot, build);
  if (documentRoot.kind === 'root') return belowRoot(root);
  return alias(documentRoot.kind === 'alias' ? inPlaceOf(documentRoot.location, root) : wholePath(root));
}

/** nginx: r->valid_location */
function alias(path: Omit<DocumentPath, 'isLost'>): DocumentPath {
  return {
    ...path,
    of: (x, uri) => (hasLeftLocation(x) ? undefined : path.of(x, uri)),
    isLost: hasLeftLocation,
  };
}

type Root = (x: Exchange) => string | undefined;

/** Compiles the root. It is `undefined` if variables contain a `..` segment; fixed parts are trusted. */
function compileRoot({ path }: DocumentRootConfig, build: Build): Root {
  const fixed = constantText(path);
  if (fixed !== undefined) return () => fixed;
  const trusted = path.parts.reduce(
    (sum, part) => sum + (typeof part === 'string' ? timesUpwards(part) : 0),
    0,
  );
  const render = build.value(path);
  return (x) => {
    const rendered = render(x);
    if (rendered.includes('\0') || timesUpwards(rendered) > trusted) return undefined;
    return rendered.startsWith('/') ? rendered : `${build.prefix}/${rendered}`;
  };
}

function belowRoot(root: Root): DocumentPath {
  const join = (x: Exchange, uri: string): string | undefined =>
    uri.startsWith('/') ? joined(root(x), uri) : undefined;
  return {
    root: (x) => root(x) ?? '',
    of: join,
    isLost: () => false,
    rest: (name) => name,
    ofRest: join,
    uriOf: (_x, { rest }) => rest,
  };
}

/** Replaces exactly the text of the location, as nginx does: a slash that only one of the two has is missing. */
function inPlaceOf(location: string, root: Root): Omit<DocumentPath, 'isLost'> {
  const rest = (name: string): string => (name.startsWith(location) ? name.slice(location.length) : name);
  return {
    root: (x) => root(x) ?? '',
    of: (x, uri) => (uri.startsWith(location) ? joined(root(x), uri.slice(location.length)) : undefined),
    rest,
    ofRest: (x, name) => joined(root(x), name),
    uriOf: (_x, found) => location + found.rest,
  };
}

function wholePath(root: Root): Omit<DocumentPath, 'isLost'> {
  return {
    root: (x) => root(x) ?? '',
    of: (x, uri) => joined(root(x), x.state(FOLLOWED_BY_URI) ? uri : ''),
    rest: (name) => name,
    ofRest: (x, rest) => joined(root(x), rest),
    uriOf: (x, { rest, isDirectory }) => {
      if (isDirectory) return x.uri;
      x.setState(FOLLOWED_BY_URI, true);
      return rest;
    },
  };
}

function joined(root: string | undefined, rest: string): string | undefined {
  if (root === undefined || rest.includes('\0')) return undefined;
  const path = root + rest;
  return rest.includes('..') && timesUpwards(path) > timesUpwards(root) ? undefined : path;
}

function timesUpwards(path: string): number {
  return path.match(UPWARDS)?.length ?? 0;
}

/** Variables about the paths of files. */
export const variables: NonNullable<ModuleDefinition<StaticConfig>['variables']> = {
  document_root: {
    summary: 'The value of `root` or `alias` for the request.',
    compile: (build) => compileDocumentPath(build).root,
  },
  realpath_root: {
    summary: '`$document_root` as an absolute path without symbolic links.',
    compile: (build) => {
      const { root } = compileDocumentPath(build);
      return (x) => {
        try {
          return realpathSync(root(x));
        } catch {
          return undefined;
        }
      };
    },
  },
  request_filename: {
    summary: 'Path of the file that `$uri` maps to.',
    compile: (build) => {
      const { of } = compileDocumentPath(build);
      return (x) => of(x, x.uri);
    },
  },
};

function hasLeftLocation(x: Exchange): boolean {
  return x.rewritePhase?.hasLeftLocation === true;
}
