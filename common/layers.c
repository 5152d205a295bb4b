/* layers - the rows of the one table in layers.h. */
#include "common/layers.h"

#include <assert.h>

#define LAYER_ROW(symbol, layer_name, is_required, layer_what)                                     \
	[LAYER_INDEX_##symbol] = {.bit = LAYER_##symbol,                                           \
				  .name = layer_name,                                              \
				  .required = is_required,                                         \
				  .what = layer_what},
static const struct layer_info LAYER_INFOS[LAYER_COUNT] = {LAYERS(LAYER_ROW)};
#undef LAYER_ROW

const struct layer_info *layer_info(unsigned int i)
{
	assert(i < LAYER_COUNT);
	return &LAYER_INFOS[i];
}

uint32_t layers_required(void)
{
	uint32_t bits = 0;

	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		if (LAYER_INFOS[i].required)
			bits |= LAYER_INFOS[i].bit;
	}
	return bits;
}
