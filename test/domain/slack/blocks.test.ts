import type { KnownBlock, ModalView } from '@slack/types';
import { expectTypeOf, test } from 'vitest';
import type { Button, InputBlock, MessageBlock, Modal, ModalBlock, Option, SlackMessage } from '../../../domain/slack/blocks.js';

test('what the gateway sends to Slack is of the types that Slack has published', () => {
  expectTypeOf<MessageBlock>().toExtend<KnownBlock>();
  expectTypeOf<ModalBlock>().toExtend<KnownBlock>();
  expectTypeOf<InputBlock>().toExtend<KnownBlock>();
  expectTypeOf<Modal>().toExtend<ModalView>();
  expectTypeOf<SlackMessage['blocks'][number]>().toExtend<KnownBlock>();
  expectTypeOf<Button>().toExtend<import('@slack/types').Button>();
  expectTypeOf<Option>().toExtend<import('@slack/types').PlainTextOption>();
});
