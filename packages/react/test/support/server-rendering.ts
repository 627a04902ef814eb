/** The entry of a server: renders the application to text. */
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { AvatarStack } from '../../src/index.ts';
import { application, clientOf } from './application.ts';

export const render = (view: string): string =>
  renderToString(application(view, clientOf('http://127.0.0.1:1', 'no-token')));

export const renderAvatars = (props: Parameters<typeof AvatarStack>[0]): string =>
  renderToString(createElement(AvatarStack, props));
