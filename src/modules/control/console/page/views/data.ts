import { DATA_PATHS, type Route, type RouteServer, type RouteTree } from '../../contract.ts';
import { read } from '../api.ts';
import { h, show } from '../dom.ts';
import { chip, empty } from '../marks.ts';
import { type Resource, resourcesOf } from '../openapi.ts';
import type { OpenView } from '../shell.ts';
import { TryForm } from './try-form.ts';

/** A location with `dbrest_pass`. */
interface RestLocation {
  readonly label: string;
  /** Its path without a trailing slash; absent if it is not fixed. */
  readonly path: string | undefined;
  /** It is served at the address of this page. */
  readonly isHere: boolean;
}

/** The view of tables and functions of the REST locations, which can be called and copied. */
export const openData: OpenView = ({ signal }) => {
  const element = h('div', { class: 'stack' });
  read<RouteTree>(DATA_PATHS.routes, {}, signal).then(
    (tree) => {
      const locations = tree.servers.flatMap((server) =>
        restLocationsOf(server.root, { server, own: tree.own }),
      );
      if (locations.length === 0)
        show(
          element,
          empty('No REST locations', 'A location with dbrest_pass shows its tables and functions here.'),
        );
      else show(element, ...locations.map((each) => locationSection(each, signal)));
    },
    (error: unknown) => show(element, empty('The locations cannot be shown', (error as Error).message)),
  );
  return { title: 'Data', element };
};

function restLocationsOf(
  route: Route,
  { server, own }: { server: RouteServer; own: string },
): readonly RestLocation[] {
  const inner = route.locations.flatMap((location) => restLocationsOf(location, { server, own }));
  if (route.answeredBy !== 'dbrest_pass') return inner;
  const path = route.kind === 'prefix' ? route.text.replace(/^\^~ /, '').replace(/\/$/, '') : undefined;
  return [{ label: `${server.label} ${route.text}`, path, isHere: server.label === own }, ...inner];
}

function locationSection({ label, path, isHere }: RestLocation, signal: AbortSignal): HTMLElement {
  const content = h('div', { class: 'browser' });
  const section = h(
    'section',
    { class: 'stack tight' },
    h('h2', { class: 'group' }, h('code', {}, label)),
    content,
  );
  if (path === undefined || !isHere) {
    const reason = isHere
      ? 'Its path is a pattern'
      : 'It is served at another address, and this page sends requests to its own address only';
    show(content, empty('Cannot be tried from here', `${reason}: ask it with a client of your own.`));
    return section;
  }
  describe(path, signal).then(
    (resources) => show(content, ...browser(`${location.origin}${path}`, resources)),
    (error: unknown) =>
      show(content, empty('No description', `${(error as Error).message} (dbrest_openapi decides about it)`)),
  );
  return section;
}

async function describe(path: string, signal: AbortSignal): Promise<readonly Resource[]> {
  const headers = { accept: 'application/openapi+json' };
  const response = await fetch(`${path}/`, { headers, signal });
  if (!response.ok) throw new Error(`The location answers ${response.status} at its root`);
  return resourcesOf(await response.json());
}

/** Returns a list of resources, and the form for the chosen one. */
function browser(base: string, resources: readonly Resource[]): readonly HTMLElement[] {
  const [first] = resources;
  if (!first) return [empty('Nothing is visible', 'The anonymous role may use no table and no function.')];
  const detail = h('div', { class: 'detail' });
  const buttons = resources.map((resource) => {
    const button = h(
      'button',
      { type: 'button', class: 'resource', onclick: () => choose(resource) },
      h('code', {}, resource.name),
      h('small', {}, resource.summary || describeShape(resource)),
    );
    return { resource, button };
  });
  const choose = (chosen: Resource): void => {
    for (const { resource, button } of buttons)
      button.setAttribute('aria-pressed', String(resource === chosen));
    show(detail, resourceCard(chosen), new TryForm(base, chosen).element);
  };
  choose(first);
  return [
    h(
      'div',
      { class: 'card flush resources', role: 'group', 'aria-label': 'Tables and functions' },
      ...buttons.map(({ button }) => button),
    ),
    detail,
  ];
}

function describeShape({ kind, fields }: Resource): string {
  return kind === 'table' ? `${fields.length} columns` : `function of ${fields.length}`;
}

function resourceCard({ name, kind, summary, fields, methods }: Resource): HTMLElement {
  return h(
    'section',
    { class: 'card' },
    h(
      'header',
      { class: 'card-head' },
      h('h2', {}, h('code', {}, name)),
      h('span', { class: 'chips' }, ...methods.map((method) => chip(method))),
    ),
    h('p', { class: 'lead' }, summary || (kind === 'table' ? 'A table or view.' : 'A function.')),
    h(
      'ul',
      { class: 'fields' },
      ...fields.map((field) =>
        h(
          'li',
          {},
          h('code', {}, field.name),
          h('small', {}, field.type),
          field.isKey && chip('key', 'accent'),
          kind === 'function' && field.isRequired && chip('required'),
        ),
      ),
    ),
  );
}
