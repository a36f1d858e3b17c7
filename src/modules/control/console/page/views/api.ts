import {
  type ApiDescription,
  type ApiLocation,
  type ApiPage,
  type ApiResource,
  DATA_PATHS,
} from '../../contract.ts';
import { read } from '../api.ts';
import { h, labelled, show } from '../dom.ts';
import { empty } from '../marks.ts';
import type { OpenView } from '../shell.ts';
import { Persona, TrialForm } from './trial-form.ts';

/** The view that tries requests on REST locations as a role, and rolls them back. */
export const openApi: OpenView = ({ signal }) => {
  const element = h('div', { class: 'stack' });
  read<ApiPage>(DATA_PATHS.apis, {}, signal).then(
    (page) => show(element, ...content(page, signal)),
    (error: unknown) => show(element, empty('The locations cannot be shown', (error as Error).message)),
  );
  return { title: 'API', element };
};

function content({ isOn, apis }: ApiPage, signal: AbortSignal): readonly HTMLElement[] {
  const [first] = apis;
  if (!isOn)
    return [
      empty(
        'Requests cannot be tried here',
        'control_console_api on; beside control_console lets this page try requests as any role that they may have. Each is logged, and rolled back.',
      ),
    ];
  if (!first)
    return [empty('No REST locations', 'Requests on a location with dbrest_pass can be tried here.')];
  const browser = h('div', { class: 'browser' });
  let shown = first;
  const open = (api: ApiLocation): void => {
    shown = api;
    show(browser);
    read<ApiDescription>(DATA_PATHS.apis, { api: api.id }, signal).then(
      (description) => shown === api && show(browser, ...resources(api, description)),
      (error: unknown) => shown === api && show(browser, empty('No description', (error as Error).message)),
    );
  };
  const choice = h(
    'select',
    {
      'aria-label': 'Location',
      onchange: () => open(apis.find(({ id }) => id === choice.value) ?? first),
    },
    ...apis.map(({ id, label }) => h('option', { value: id }, label)),
  );
  open(first);
  const lead = 'A request as a role: explained, or run and rolled back. Each trial is logged.';
  return [
    h('p', { class: 'lead' }, lead),
    ...(apis.length > 1 ? [labelled('location', choice)] : []),
    browser,
  ];
}

/** Returns a list of tables and functions, and the form for the chosen one. */
function resources(api: ApiLocation, description: ApiDescription): readonly HTMLElement[] {
  const [first] = description.resources;
  if (!first) return [empty('Nothing is exposed', 'The schemas have no table and no function.')];
  if (description.roles.length === 0)
    return [empty('No role can be tried', 'The login role may not become any role of requests.')];
  const persona = new Persona(description);
  const detail = h('div', { class: 'detail' });
  const buttons = description.resources.map((resource) => {
    const onclick = (): void => choose(resource);
    const attributes = { type: 'button', class: 'resource', onclick };
    const note = resource.summary || shapeOf(resource);
    return {
      resource,
      button: h('button', attributes, h('code', {}, resource.name), h('small', {}, note)),
    };
  });
  const choose = (chosen: ApiResource): void => {
    for (const { resource, button } of buttons)
      button.setAttribute('aria-pressed', String(resource === chosen));
    show(detail, new TrialForm({ api, resource: chosen, persona }).element);
  };
  choose(first);
  const list = h(
    'div',
    { class: 'card flush resources', role: 'group', 'aria-label': 'Tables and functions' },
    ...buttons.map(({ button }) => button),
    description.isCut && h('p', { class: 'none' }, 'There are more: write their path yourself.'),
  );
  return [list, detail];
}

function shapeOf({ kind, fields, profile }: ApiResource): string {
  const shape = kind === 'table' ? `${fields.length} columns` : `function of ${fields.length}`;
  return profile === undefined ? shape : `${shape}, in ${profile}`;
}
